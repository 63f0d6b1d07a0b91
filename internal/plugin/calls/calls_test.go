package calls

import (
	"math"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/privacy"
)

var (
	lap   = privacy.DiscreteLaplace{Scale: 2}
	gauss = privacy.DiscreteGaussian{Sigma: 3}
	rr    = privacy.RandomizedResponse{K: 3, Eps0: 1}
	step  = privacy.Poisson{Rate: 0.1, Event: privacy.Compose{Events: []privacy.Event{gauss, lap}}}
)

var descent = privacy.LastIterate{Variant: "full-batch-strongly-convex", Sigma: 0.5, Sensitivity: 2, N: 10, Steps: 3,
	StepSize: 1, Smooth: 1, StrongConvexity: 0.1}

// choice is three selections that share a budget.
var choice = privacy.BoundedRange{Eps: 1, Parts: 3}

func all(events ...privacy.Event) privacy.Compose { return privacy.Compose{Events: events} }

func TestCallsInOrder(t *testing.T) {
	for name, c := range map[string]struct {
		plan  privacy.Event
		calls []privacy.Event
	}{
		"leaf":     {lap, []privacy.Event{lap}},
		"compose":  {all(lap, gauss, lap), []privacy.Event{lap, gauss, lap}},
		"empty":    {all(), nil},
		"repeat":   {privacy.Repeat{N: 3, Event: all(lap, gauss)}, []privacy.Event{lap, gauss, lap, gauss, lap, gauss}},
		"nested":   {privacy.Repeat{N: 2, Event: privacy.Repeat{N: 2, Event: lap}}, []privacy.Event{lap, lap, lap, lap}},
		"sampling": {privacy.Repeat{N: 2, Event: step}, []privacy.Event{step, gauss, lap, step, gauss, lap}},
		"two-stage": {privacy.Poisson{Rate: 0.5, Event: step},
			[]privacy.Event{privacy.Poisson{Rate: 0.5, Event: step}, step, gauss, lap}},
		"stages": {privacy.Multistage{Stages: []privacy.Stage{{Take: 1, Of: 2}}, Event: lap},
			[]privacy.Event{privacy.Multistage{Stages: []privacy.Stage{{Take: 1, Of: 2}}, Event: lap}, lap}},
		"shuffled":     {privacy.Shuffled{N: 9, Event: rr}, []privacy.Event{rr}},
		"last-iterate": {all(descent, lap), []privacy.Event{descent.Step(), descent.Step(), descent.Step(), lap}},
		"parts":        {all(choice, lap), []privacy.Event{choice, choice, choice, lap}},
		"others":       {all(privacy.Pure{Eps: 1}, privacy.Approx{Eps: 1}, rr), []privacy.Event{privacy.Pure{Eps: 1}, privacy.Approx{Eps: 1}, rr}},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := New(c.plan)
			if err != nil {
				t.Fatal(err)
			}
			for i, e := range c.calls {
				if w.Done() == nil {
					t.Errorf("done after %d of %d calls", i, len(c.calls))
				}
				n, err := w.Next(e)
				if err != nil {
					t.Fatalf("call %d: %v", i, err)
				}
				if want := int64(0); name == "shuffled" {
					want = 9
					if n != want {
						t.Errorf("shuffled %d, want %d", n, want)
					}
				}
			}
			if err := w.Done(); err != nil {
				t.Error(err)
			}
			if _, err := w.Next(lap); err == nil {
				t.Error("a call too many is accepted")
			}
		})
	}
}

// Noise that the host cannot draw is refused with the plan, not after the debit.
func TestCallsCanBeDrawn(t *testing.T) {
	for _, x := range []float64{MinScale, 1, MaxScale} {
		for _, e := range []privacy.Event{privacy.DiscreteLaplace{Scale: x}, privacy.DiscreteGaussian{Sigma: x}} {
			if _, err := New(e); err != nil {
				t.Errorf("%+v: %v", e, err)
			}
		}
	}
	for _, x := range []float64{0, -1, math.NaN(), math.Inf(1), MinScale / 2, math.Nextafter(MaxScale, math.Inf(1))} {
		for _, e := range []privacy.Event{privacy.DiscreteLaplace{Scale: x}, privacy.Repeat{N: 2, Event: all(lap, privacy.DiscreteGaussian{Sigma: x})}} {
			if _, err := New(e); err == nil {
				t.Errorf("%+v is accepted", e)
			}
		}
	}
}

func TestCallsDiffer(t *testing.T) {
	w, err := New(all(lap, gauss))
	if err != nil {
		t.Fatal(err)
	}
	less := lap
	less.Scale = math.Nextafter(2, 1)
	if _, err := w.Next(less); err != ErrDiffers {
		t.Error("a smaller scale is accepted")
	}
	if _, err := w.Next(lap); err != ErrDiffers {
		t.Error("a call is accepted after one that differed")
	}
	if w.Done() != ErrDiffers {
		t.Error("a failed walk looks done")
	}
	// The explicit default is another event than the default: exact equality.
	w, _ = New(lap)
	if _, err := w.Next(privacy.DiscreteLaplace{Scale: 2, Sensitivity: privacy.Sensitivity{AddRemove: 1}}); err != ErrDiffers {
		t.Error("another sensitivity is accepted")
	}
	// A draw for another inner event is another draw.
	w, _ = New(step)
	if _, err := w.Next(privacy.Poisson{Rate: 0.1, Event: gauss}); err != ErrDiffers {
		t.Error("another draw is accepted")
	}
}

// A walk is not done before the last call of its plan.
func TestCallsPartial(t *testing.T) {
	w, err := New(all(lap, privacy.Repeat{N: 3, Event: step}))
	if err != nil {
		t.Fatal(err)
	}
	for n, e := range []privacy.Event{lap, step, gauss, lap, step, gauss, lap, step, gauss, lap} {
		if w.Done() == nil {
			t.Errorf("done after %d", n)
		}
		if _, err := w.Next(e); err != nil {
			t.Fatal(err)
		}
	}
	if w.Done() != nil {
		t.Error("not done after the last call")
	}
}

// A last iterate is its steps, and no step may have another noise.
func TestCallsLastIterate(t *testing.T) {
	w, err := New(descent)
	if err != nil {
		t.Fatal(err)
	}
	if s := descent.Step(); s.Sigma != 1<<40 || s.Sensitivity.ReplaceOne != 1<<40*2/10./0.5 {
		t.Errorf("step %+v", s)
	}
	for range 2 {
		if _, err := w.Next(descent.Step()); err != nil {
			t.Fatal(err)
		}
	}
	if w.Done() == nil {
		t.Error("done after two of three steps")
	}
	less := descent.Step()
	less.Sigma /= 2
	if _, err := w.Next(less); err != ErrDiffers {
		t.Error("a step with less noise is accepted")
	}
	w, _ = New(descent)
	if _, err := w.Next(descent); err != ErrDiffers {
		t.Error("the whole descent is accepted as a call")
	}
	for name, change := range map[string]func(e *privacy.LastIterate){
		"exact cycle": func(e *privacy.LastIterate) {
			e.Variant, e.Batch, e.Steps, e.Epochs = "cyclic-strongly-convex", 5, 0, 3
		},
		"batch":   func(e *privacy.LastIterate) { e.Batch = 5 },
		"steps":   func(e *privacy.LastIterate) { e.Steps = 0 },
		"many":    func(e *privacy.LastIterate) { e.Steps = maxCalls + 1 },
		"epochs":  func(e *privacy.LastIterate) { e.Epochs = 2 },
		"n":       func(e *privacy.LastIterate) { e.N = 0 },
		"sigma":   func(e *privacy.LastIterate) { e.Sigma = 0 },
		"l":       func(e *privacy.LastIterate) { e.Sensitivity = 0 },
		"variant": func(e *privacy.LastIterate) { e.Variant = "" },
	} {
		e := descent
		change(&e)
		if _, err := New(e); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// Where records are taken in turn, each step asks for its batch and then for its noise.
func TestCallsInTurn(t *testing.T) {
	cyclic := privacy.LastIterate{Variant: "cyclic-strongly-convex", Sigma: 0.5, Sensitivity: 2, N: 10, Batch: 4, Epochs: 2,
		StepSize: 1, Smooth: 1, StrongConvexity: 0.1, Rounding: 1e-9}
	pass := cyclic
	pass.Variant, pass.Epochs, pass.Early = "one-pass", 0, 0.25
	for _, e := range []privacy.LastIterate{cyclic, pass} {
		w, err := New(e)
		if err != nil {
			t.Fatal(err)
		}
		for k := range e.Calls() {
			if _, err := w.Next(e); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Next(e.StepAt(k)); err != nil {
				t.Fatal(err)
			}
			if done := w.Done() == nil; done != (k+1 == e.Calls()) {
				t.Errorf("%s: after %d steps of %d done is %v", e.Variant, k+1, e.Calls(), done)
			}
		}
		if w.Done() != nil {
			t.Error("not done")
		}
		for name, wrong := range map[string]func(w *Walk) error{
			"noise first": func(w *Walk) error { _, err := w.Next(e.StepAt(0)); return err },
			"two batches": func(w *Walk) error {
				if _, err := w.Next(e); err != nil {
					return nil
				}
				_, err := w.Next(e)
				return err
			},
			"another run": func(w *Walk) error { other := e; other.Sigma *= 2; _, err := w.Next(other); return err },
		} {
			w, _ := New(e)
			if wrong(w) != ErrDiffers {
				t.Errorf("%s: %s is accepted", e.Variant, name)
			}
		}
	}
	// An early step has less noise.
	if g := pass.StepAt(0); g.Sigma != 1<<38 {
		t.Errorf("an early step has noise %g", g.Sigma)
	}
	for name, change := range map[string]func(e *privacy.LastIterate){
		"exact steps": func(e *privacy.LastIterate) { e.Rounding = 0 },
		"no batch":    func(e *privacy.LastIterate) { e.Batch = 0 },
		"wide batch":  func(e *privacy.LastIterate) { e.Batch = 11 },
		"steps":       func(e *privacy.LastIterate) { e.Steps = 3 },
		"no epochs":   func(e *privacy.LastIterate) { e.Epochs = 0 },
		"early":       func(e *privacy.LastIterate) { e.Early = 0.5 },
		"many":        func(e *privacy.LastIterate) { e.Epochs = maxCalls },
	} {
		e := cyclic
		change(&e)
		if _, err := New(e); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	pass.Early = 0x1p-21
	if _, err := New(pass); err == nil {
		t.Error("next to no noise is accepted")
	}
}

// A million steps are followed in little time and constant memory.
func TestCallsMany(t *testing.T) {
	tier.Full(t, "TestCallsInOrder")
	plan := privacy.Repeat{N: 200_000, Event: step}
	w, err := New(plan)
	if err != nil {
		t.Fatal(err)
	}
	for range plan.N {
		for _, e := range []privacy.Event{step, gauss, lap} {
			if _, err := w.Next(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	if w.Done() != nil {
		t.Error("not done")
	}
}

func TestCallsRefused(t *testing.T) {
	for name, e := range map[string]privacy.Event{
		"nil": nil, "continuous": privacy.Gaussian{Sigma: 1}, "laplace": privacy.Laplace{Scale: 1}, "zcdp": privacy.ZCDP{Rho: 1},
		"last-iterate": privacy.LastIterate{Sigma: 1}, "scale-0": privacy.DiscreteLaplace{}, "sigma-negative": privacy.DiscreteGaussian{Sigma: -1},
		"k-1": privacy.RandomizedResponse{K: 1, Eps0: 1}, "repeat-0": privacy.Repeat{Event: lap}, "repeat-nothing": privacy.Repeat{N: 1 << 40, Event: all()},
		"too-many": privacy.Repeat{N: 1 << 40, Event: lap}, "overflow": privacy.Repeat{N: 1 << 31, Event: privacy.Repeat{N: 1 << 31, Event: privacy.Repeat{N: 1 << 31, Event: lap}}},
		"sampling-nothing": privacy.Poisson{Rate: 1, Event: all()}, "sampling-nil": privacy.Poisson{Rate: 1},
		"shuffled-other": privacy.Shuffled{N: 3, Event: lap}, "shuffled-nobody": privacy.Shuffled{Event: rr}, "deep": deep(maxDepth),
		"inner": all(lap, privacy.Repeat{N: 1, Event: privacy.Gaussian{Sigma: 1}}), "pure-nan": privacy.Pure{Eps: math.NaN()},
	} {
		if _, err := New(e); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// deep is an event of n levels.
func deep(n int) privacy.Event {
	var e privacy.Event = privacy.Pure{Eps: 1}
	for range n {
		e = privacy.Repeat{N: 1, Event: e}
	}
	return e
}
