package privacy

import (
	"math"
	"math/rand/v2"
	"testing"
)

// This file attacks the accounting of a draw that several jobs use: an analyst sees the exact outputs of each step, chooses the
// next one by them, and mixes in steps on the table and on a second draw. Populations are tiny, and every transcript is
// enumerated on both neighbours.

// step is one mechanism: on draw 0, on draw 1, or on the table (-1). With probability delta it tells all it was given, else
// it answers whether the records that it was given are among those in says, by randomized response.
type step struct {
	draw       int
	says       uint64
	eps, delta float64
}

// answer is the distribution of a step's output on a set of records.
func (s step) answer(records uint64, out uint64) float64 {
	if out > 1 {
		if out-2 == records {
			return s.delta
		}
		return 0
	}
	truth := s.says >> (records & 63) & 1
	p := 1 / (1 + math.Exp(-s.eps))
	if out != truth {
		p = 1 - p
	}
	return (1 - s.delta) * p
}

// world is one of two neighbours: its table and what its draws can be.
type world struct {
	table uint64
	draws [2][]uint64
	law   [2][]float64
}

func newWorld(values []int, designs [2][]outcome) *world {
	w := &world{}
	for _, v := range values {
		w.table |= 1 << v
	}
	for k, d := range designs {
		for _, o := range d {
			set := uint64(0)
			for _, m := range o.members {
				set |= 1 << values[m]
			}
			w.draws[k], w.law[k] = append(w.draws[k], set), append(w.law[k], o.p)
		}
	}
	return w
}

// belief is the probability of the outputs so far, for each sample of each draw.
type belief struct {
	table float64
	draws [2][]float64
}

func (w *world) start() belief { return belief{1, w.law} }

func (w *world) after(b belief, s step, out uint64) belief {
	if s.draw < 0 {
		b.table *= s.answer(w.table, out)
		return b
	}
	next := make([]float64, len(b.draws[s.draw]))
	for i, p := range b.draws[s.draw] {
		next[i] = p * s.answer(w.draws[s.draw][i], out)
	}
	b.draws[s.draw] = next
	return b
}

func (b belief) probability() float64 {
	p := b.table
	for _, d := range b.draws {
		sum := 0.0
		for _, x := range d {
			sum += x
		}
		p *= sum
	}
	return p
}

// spending holds the charges of a transcript.
type spending struct {
	sample, charged [2]float64 // of each draw: on the sample, on the population
	table, delta    float64
}

func (s spending) epsilon() float64 { return s.table + s.charged[0] + s.charged[1] }

// charge adds a step to the charges, as the ledger does.
type charge func(s spending, x step) spending

func reuseCharge(t *testing.T, r [2]*Reuse) charge {
	return func(s spending, x step) spending {
		if x.draw < 0 {
			s.table += x.eps
			s.delta += x.delta
			return s
		}
		d, err := r[x.draw].Delta(s.sample[x.draw], x.delta)
		if err != nil {
			t.Fatal(err)
		}
		s.delta += d
		s.sample[x.draw] += x.eps
		if s.charged[x.draw], err = r[x.draw].Epsilon(s.sample[x.draw]); err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// attack enumerates all transcripts of a strategy and returns by how much the charges are too small (above 0 is a
// violation), and how much of the δ was needed.
func attack(a, b *world, strategy func(history []uint64) (step, bool), pay charge) (worst, used float64) {
	most := 0.0            // the largest δ that any transcript is charged
	excess := [2]float64{} // what e^ε(τ) does not cover, in both directions
	var walk func(history []uint64, x, y belief, s spending)
	walk = func(history []uint64, x, y belief, s spending) {
		p, q := x.probability(), y.probability()
		if p == 0 && q == 0 {
			return
		}
		next, more := strategy(history)
		if !more {
			most = math.Max(most, s.delta)
			e := math.Exp(s.epsilon())
			excess[0] += math.Max(0, p-e*q)
			excess[1] += math.Max(0, q-e*p)
			return
		}
		s = pay(s, next)
		outs := []uint64{0, 1}
		if next.delta > 0 {
			seen := map[uint64]bool{}
			for _, w := range []*world{a, b} {
				all := []uint64{w.table}
				if next.draw >= 0 {
					all = w.draws[next.draw]
				}
				for _, set := range all {
					if !seen[set] {
						seen[set] = true
						outs = append(outs, set+2)
					}
				}
			}
		}
		for _, out := range outs {
			walk(append(history[:len(history):len(history)], out), a.after(x, next, out), b.after(y, next, out), s)
		}
	}
	walk(nil, a.start(), b.start(), spending{})
	if most > 0 {
		used = math.Max(excess[0], excess[1]) / most
	}
	return math.Max(excess[0], excess[1]) - most, used
}

// setting is a pair of neighbours and the accounting of their draws.
type setting struct {
	name    string
	event   Sampling
	rel     Relation
	a, b    *world
	noDelta bool
}

func settings() []setting {
	both := func(d []outcome) [2][]outcome { return [2][]outcome{d, d} }
	change := func(s setting, a, b []outcome) setting {
		// Record 0 is x; in its place is x' = 5, or nothing.
		s.a = newWorld([]int{0, 1, 2, 3}, both(a))
		if s.rel == ReplaceOne {
			s.b = newWorld([]int{5, 1, 2, 3}, both(b))
		} else {
			s.b = newWorld([]int{1, 2, 3}, both(b))
		}
		return s
	}
	first := 0
	two := frame(&first, 1, []int{2, 2}, []int{1, 1}).draws()
	return []setting{
		change(setting{name: "2 of 4", event: WithoutReplacement{Take: 2, Of: 4}, rel: ReplaceOne}, fixedDesign(2, 4), fixedDesign(2, 4)),
		change(setting{name: "1 of 4", event: WithoutReplacement{Take: 1, Of: 4}, rel: ReplaceOne}, fixedDesign(1, 4), fixedDesign(1, 4)),
		change(setting{name: "2 of at least 3", event: WithoutReplacement{Take: 2, Of: 3}, rel: AddRemove}, fixedDesign(2, 4), fixedDesign(2, 3)),
		change(setting{name: "poisson .2", event: Poisson{Rate: .2}, rel: AddRemove}, poissonDesign(equalRates(4, .2)...), poissonDesign(equalRates(3, .2)...)),
		change(setting{name: "poisson .2, replace", event: Poisson{Rate: .2}, rel: ReplaceOne}, poissonDesign(equalRates(4, .2)...), poissonDesign(equalRates(4, .2)...)),
		change(setting{name: "two stages", event: Multistage{Stages: []Stage{{Take: 1, Of: 2}, {Take: 1, Of: 2}}}, rel: ReplaceOne, noDelta: true}, two, two),
	}
}

// Nobody learns more than the ledger charged, whatever they choose by what they saw. Settings without a δ are covered without any.
func TestReuseAgainstAdaptiveAnalysts(t *testing.T) {
	tries := 400
	if testing.Short() {
		tries = 60
	}
	for _, c := range settings() {
		t.Run(c.name, func(t *testing.T) {
			r, err := NewReuse(c.event, c.rel)
			if err != nil {
				t.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(7, 1))
			tight := 0.0
			for i := range tries {
				withDelta := i%2 == 1 && !c.noDelta
				strategy := randomStrategy(rng, c, withDelta)
				worst, used := attack(c.a, c.b, strategy, reuseCharge(t, [2]*Reuse{r, r}))
				if worst > 1e-12 {
					t.Fatalf("try %d (δ: %v): the charges are %g too small", i, withDelta, worst)
				}
				tight = math.Max(tight, used)
			}
			t.Logf("of what is charged in δ, %.3g was used up", tight)
		})
	}
}

// randomStrategy chooses three or four steps, each by all outputs before it. Half of its questions are about x itself.
func randomStrategy(rng *rand.Rand, c setting, withDelta bool) func([]uint64) (step, bool) {
	steps, seed := 3+rng.IntN(2), rng.Uint64()
	if withDelta {
		steps = 3
	}
	return func(history []uint64) (step, bool) {
		if len(history) == steps {
			return step{}, false
		}
		own := rand.New(rand.NewPCG(seed, uint64(len(history))))
		for _, h := range history {
			own = rand.New(rand.NewPCG(own.Uint64(), min(h, 2)))
		}
		s := step{draw: []int{0, 0, 0, 1, -1}[own.IntN(5)], says: own.Uint64(), eps: 3 * own.Float64() * own.Float64()}
		if own.IntN(2) == 0 {
			s.says = 0
			for set := range uint64(64) { // does it hold x?
				s.says |= set & 1 << set
			}
		}
		if withDelta && own.IntN(2) == 0 {
			s.delta = .3 * own.Float64()
		}
		return s, true
	}
}

// The whole of a draw's charge is attained: what the samples of two jobs tell together is as much as the rule says, and
// more than their separate amplification would have charged (P4).
func TestReuseTraps(t *testing.T) {
	q := .1
	r, err := NewReuse(Poisson{Rate: q}, AddRemove)
	if err != nil {
		t.Fatal(err)
	}
	one := [2][]outcome{poissonDesign(q), {{p: 1}}}
	none := [2][]outcome{{{p: 1}}, {{p: 1}}}
	a, b := newWorld([]int{0}, one), newWorld(nil, none)
	twice := func(history []uint64) (step, bool) { return step{says: 2, eps: 2}, len(history) < 2 }
	if worst, _ := attack(a, b, twice, reuseCharge(t, [2]*Reuse{r, r})); worst > 1e-12 {
		t.Errorf("the rule is violated by %g", worst)
	}
	separately := func(s spending, x step) spending {
		e, _ := r.Epsilon(x.eps)
		s.table += e
		return s
	}
	if worst, _ := attack(a, b, twice, separately); worst < .01 {
		t.Errorf("amplifying each job on its own is not caught (%g)", worst)
	}
	all, _ := r.Epsilon(4)
	single, _ := r.Epsilon(2)
	if math.Abs(all-1.850) > 1e-3 || math.Abs(2*single-0.988) > 1e-3 {
		t.Errorf("P4: %g and %g", all, 2*single)
	}
	// Who saw that x is probably drawn spends δ there, and otherwise on the table.
	choose := func(history []uint64) (step, bool) {
		switch {
		case len(history) == 0:
			return step{says: 2, eps: 3}, true
		case len(history) > 1:
			return step{}, false
		case history[0] == 1:
			return step{says: 2, delta: .5}, true
		}
		return step{draw: -1, says: 2, delta: .05}, true
	}
	if worst, _ := attack(a, b, choose, reuseCharge(t, [2]*Reuse{r, r})); worst > 1e-12 {
		t.Errorf("the rule is violated by %g", worst)
	}
	byRate := func(s spending, x step) spending {
		s = reuseCharge(t, [2]*Reuse{r, r})(s, step{draw: x.draw, eps: x.eps})
		if x.draw >= 0 {
			x.delta *= q
		}
		s.delta += x.delta
		return s
	}
	if worst, _ := attack(a, b, choose, byRate); worst < .01 {
		t.Errorf("charging q·δ for a later job is not caught (%g)", worst)
	}
}

// Steps that are planned for a target keep to it, however often, and use it up.
func TestReuseStep(t *testing.T) {
	for _, c := range settings() {
		r, err := NewReuse(c.event, c.rel)
		if err != nil {
			t.Fatal(err)
		}
		spent, total := 0.0, 0.0
		for i, target := range []Point{{.5, 1e-6}, {.25, 0}, {1e-4, 1e-9}, {1, 1e-6}, {4, .1}} {
			s, err := r.Step(spent, target)
			if err != nil {
				t.Fatal(err)
			}
			delta := 0.0
			if !c.noDelta {
				if delta, err = r.Delta(spent, s.Delta); err != nil {
					t.Fatal(err)
				}
			} else if s.Delta != 0 {
				t.Errorf("%s: a δ without a proof", c.name)
			}
			spent = above(spent+s.Epsilon, 4e-16)
			next, err := r.Epsilon(spent)
			if err != nil {
				t.Fatal(err)
			}
			if got := next - total; got > target.Epsilon*(1+1e-12)+1e-15 || got < target.Epsilon*(1-1e-6) {
				t.Errorf("%s, step %d: costs %.15g of %g", c.name, i, got, target.Epsilon)
			}
			if delta > target.Delta || !c.noDelta && target.Delta <= .01 && delta < target.Delta*(1-1e-9) {
				t.Errorf("%s, step %d: δ %g of %g", c.name, i, delta, target.Delta)
			}
			total = next
		}
	}
	for name, wrong := range map[string]func(r *Reuse) error{
		"a δ of a multistage draw": func(*Reuse) error {
			m, err := NewReuse(settings()[5].event, ReplaceOne)
			if err == nil {
				_, err = m.Delta(1, 1e-6)
			}
			return err
		},
		"no target":      func(r *Reuse) error { _, err := r.Step(0, Point{}); return err },
		"infinite":       func(r *Reuse) error { _, err := r.Epsilon(math.Inf(1)); return err },
		"not a number":   func(r *Reuse) error { _, err := r.Epsilon(math.NaN()); return err },
		"δ of 1":         func(r *Reuse) error { _, err := r.Delta(0, 1); return err },
		"no relation":    func(*Reuse) error { _, err := NewReuse(Poisson{Rate: .1}, 0); return err },
		"no draw":        func(*Reuse) error { _, err := NewReuse(nil, AddRemove); return err },
		"wrong relation": func(*Reuse) error { _, err := NewReuse(settings()[5].event, AddRemove); return err },
	} {
		r, _ := NewReuse(Poisson{Rate: .1}, AddRemove)
		if wrong(r) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if r, _ := NewReuse(Poisson{Rate: .1}, AddRemove); r != nil {
		if e, err := r.Epsilon(0); e != 0 || err != nil {
			t.Errorf("nothing spent costs %g, %v", e, err)
		}
	}
}
