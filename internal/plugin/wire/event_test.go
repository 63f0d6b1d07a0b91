package wire

import (
	"bytes"
	"math"
	"reflect"
	"testing"

	"github.com/dprelease/dprelease/internal/plugin/calls"
	"github.com/dprelease/dprelease/privacy"
)

// everyEvent holds one of each kind, with no field at its zero value.
var everyEvent = privacy.Compose{Events: []privacy.Event{
	privacy.Gaussian{Sigma: 1.5, Sensitivity: privacy.Sensitivity{AddRemove: 1, ReplaceOne: 3}},
	privacy.Laplace{Scale: 0x1.fffffffffffffp-3, Sensitivity: privacy.Sensitivity{ReplaceOne: 3}},
	privacy.DiscreteGaussian{Sigma: 1e6, Sensitivity: privacy.Sensitivity{AddRemove: 2}, Coordinates: 7},
	privacy.DiscreteLaplace{Scale: 12, Sensitivity: privacy.Sensitivity{AddRemove: 4, ReplaceOne: 4}},
	privacy.Pure{Eps: 0.1},
	privacy.Approx{Eps: 0.2, Delta: 1e-300},
	privacy.ZCDP{Rho: 0.3},
	privacy.RandomizedResponse{K: 17, Eps0: 0.4},
	privacy.Compose{},
	privacy.Repeat{N: math.MaxInt64, Event: privacy.Pure{Eps: 5e-324}},
	privacy.Poisson{Rate: 0.01, Event: privacy.Gaussian{Sigma: 2}},
	privacy.WithoutReplacement{Take: 3, Of: 9, Event: privacy.Pure{Eps: 1}},
	privacy.WithReplacement{Take: 4, Of: 8, Event: privacy.Pure{Eps: 1}},
	privacy.Multistage{Stages: []privacy.Stage{{Take: 1, Of: 2, MaxTake: 3}, {Take: 4, Of: 5}}, Event: privacy.Pure{Eps: 1}},
	privacy.Shuffled{N: 1000, Event: privacy.RandomizedResponse{K: 2, Eps0: 1}},
	privacy.LastIterate{Variant: "cyclic-convex", Early: 0.5, Rounding: 0.25, Sigma: 1, Sensitivity: 2, N: 3, Batch: 4, Steps: 5, Epochs: 6,
		StepSize: 7, Smooth: 8, StrongConvexity: 9, Diameter: 10},
	privacy.BoundedRange{Eps: 0.7, Parts: 2, Come: 0.4}, privacy.ByGroup{Event: privacy.Pure{Eps: 1}, Fixed: true},
	privacy.RowsOfUnit{Rows: 3, Units: 2.5, Event: privacy.Poisson{Rate: 0.1, Event: privacy.Pure{Eps: 1}}}, privacy.KeySelection{Eps: 1, Delta: 1e-6}, privacy.KeyThreshold{Delta: 1e-6, Sigma: 2, Keys: 3},
	privacy.Rotation{Waves: 4, In: 2, Patterns: []privacy.Pattern{{Waves: []int64{1, 3}, Weight: 2}}, Event: privacy.Pure{Eps: 1}},
}}

func TestEventRoundTrip(t *testing.T) {
	kinds := map[string]bool{}
	for _, e := range append(everyEvent.Events, everyEvent) {
		kinds[privacy.Name(e)] = true
		b, err := FromEvent(e)
		if err != nil {
			t.Fatalf("%s: %v", privacy.Name(e), err)
		}
		if got, err := ToEvent(b); err != nil || !reflect.DeepEqual(got, e) && !privacy.Equal(got, e) {
			t.Errorf("%s: got %+v, %v", privacy.Name(e), got, err)
		}
	}
	for _, k := range privacy.Kinds() {
		if !kinds[k.Name] {
			t.Errorf("%s is not tested", k.Name)
		}
	}
	// Every field is filled above, so none can be lost unseen.
	for _, e := range everyEvent.Events {
		v := reflect.ValueOf(e)
		for i := range v.NumField() {
			if v.Field(i).IsZero() && privacy.Name(e) != "compose" {
				if privacy.Name(e) == "gaussian" || v.Type().Field(i).Name != "Coordinates" {
					t.Errorf("%s.%s is not tested", privacy.Name(e), v.Type().Field(i).Name)
				}
			}
		}
	}
}

func deep(n int) privacy.Event {
	var e privacy.Event = privacy.Pure{Eps: 1}
	for range n {
		e = privacy.Repeat{N: 1, Event: e}
	}
	return e
}

func TestEventRefused(t *testing.T) {
	wide := privacy.Compose{}
	for range MaxNodes {
		wide.Events = append(wide.Events, privacy.Pure{Eps: 1})
	}
	for name, e := range map[string]privacy.Event{
		"nil": nil, "pointer": &privacy.Pure{Eps: 1}, "nan": privacy.Pure{Eps: math.NaN()}, "inf": privacy.Gaussian{Sigma: math.Inf(1)},
		"sens-nan": privacy.Laplace{Scale: 1, Sensitivity: privacy.Sensitivity{AddRemove: math.NaN()}},
		"inner":    privacy.Poisson{Rate: 1}, "inner-nil": privacy.Compose{Events: []privacy.Event{nil}},
		"deep": deep(MaxDepth), "wide": wide,
	} {
		if b, err := FromEvent(e); err == nil {
			t.Errorf("%s: encoded as %s", name, b)
		}
	}
	if _, err := FromEvent(deep(MaxDepth - 1)); err != nil {
		t.Error(err)
	}
	// The limits hold for what is read too.
	for name, e := range map[string]privacy.Event{"deep": deep(MaxDepth), "wide": wide} {
		b, err := privacy.Canonical(e)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ToEvent(b); err == nil {
			t.Errorf("%s: decoded", name)
		}
	}
	for _, b := range []string{"", "{}", `{"pure":{"eps":1}} `, `{"pure":{"eps":1.0}}`, `{"pure":{"eps":NaN}}`, `{"pure":{"eps":1,"more":1}}`} {
		if e, err := ToEvent([]byte(b)); err == nil {
			t.Errorf("%s: decoded as %v", b, e)
		}
	}
}

// FuzzEvent: whatever is decoded is encoded back to the same bytes, and nothing panics.
func FuzzEvent(f *testing.F) {
	for _, e := range append(everyEvent.Events, everyEvent, deep(20)) {
		b, err := FromEvent(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := ToEvent(b)
		if err != nil {
			return
		}
		if back, err := FromEvent(e); err != nil || !bytes.Equal(back, b) {
			t.Fatalf("%s became %s, %v", b, back, err)
		}
		if c, err := calls.New(e); err == nil {
			_ = c.Done()
		}
	})
}
