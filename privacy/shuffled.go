package privacy

import (
	"math"
	"sort"
	"sync"

	"github.com/dprelease/dprelease/internal/calculus/pld"
	"github.com/dprelease/dprelease/privacy/shuffle"
)

// Shuffled is N users who each run Event, a local randomizer, before a trusted
// shuffler permutes the reports (P8).
type Shuffled struct {
	N     int64
	Event Event
}

func (Shuffled) kind() string { return "shuffled" }

var shuffledKind = declare[Shuffled](Kind{
	About:  "n users each run event, and a trusted shuffler permutes the reports",
	Also:   []string{"shuffle"},
	Fields: []Field{number("n", "", atLeastOne).least(1, 1e9).also("users", "count", "num", "size"), inside()},
})

const notLocal = "what each user runs must be a local randomizer that is pure: randomized_response, pure, laplace, or a composition of them"

// runShuffle answers for an expression that is one shuffle (P8).
func runShuffle(e Event, rel Relation, at Point, q query, _ Options) (bracket, *Unsupported) {
	ts := terms(e, "")
	s, ok := ts[0].event.(Shuffled)
	if !ok || len(ts) > 1 || ts[0].runs > 1 {
		return bracket{}, refuse("", "the expression is not one shuffle of local reports")
	}
	l, u := localReport(s, rel, ts[0].path())
	if u != nil {
		return bracket{}, u
	}
	var upper float64
	if q == epsilonQuery {
		upper, u = l.epsilon(at.Delta, ts[0].path())
	} else {
		upper = l.delta(at.Epsilon)
	}
	return bracket{upper: upper}, u
}

// local is a shuffled report: n users, each eps0-private, k > 1 categories if it
// is k-ary randomized response.
type local struct {
	n    int64
	eps0 float64
	k    int
}

// localReport reads the local randomizer.
func localReport(s Shuffled, rel Relation, here string) (local, *Unsupported) {
	if rel != ReplaceOne {
		return local{}, refuse(here, replaceOnly)
	}
	inner := here + ".event"
	ts := terms(s.Event, inner)
	for _, t := range ts {
		switch t.event.(type) {
		case RandomizedResponse, Pure, Laplace, DiscreteLaplace, Approx:
		default:
			return local{}, refuse(t.path(), notLocal)
		}
	}
	p, u := basic(s.Event, ReplaceOne, inner, 1)
	if u == nil && math.IsInf(p.pure, 1) {
		u = refuse(inner, notLocal)
	}
	if u != nil {
		return local{}, u
	}
	l := local{n: s.N, eps0: p.pure}
	if r, ok := ts[0].event.(RandomizedResponse); ok && len(ts) == 1 && ts[0].runs == 1 {
		l.k = r.K
	}
	return l, nil
}

// delta is the smaller of the two analyses.
func (l local) delta(eps float64) float64 {
	best := 1.0
	if i, err := shuffle.Delta(l.n, l.eps0, eps); err == nil {
		best = math.Min(best, i.Upper)
	}
	if l.k > 1 {
		if i, err := shuffle.ResponseDelta(l.n, l.k, l.eps0, eps); err == nil {
			best = math.Min(best, i.Upper)
		}
	}
	return best
}

// epsilon is the smaller of the two analyses.
func (l local) epsilon(delta float64, here string) (float64, *Unsupported) {
	i, err := shuffle.Epsilon(l.n, l.eps0, delta)
	best := i.Upper
	if err != nil {
		best = math.Inf(1)
	}
	if l.k > 1 {
		r, errK := shuffle.ResponseEpsilon(l.n, l.k, l.eps0, delta)
		if errK == nil {
			best, err = math.Min(best, r.Upper), nil
		}
	}
	if err != nil {
		return 0, refuse(here, err.Error())
	}
	return best, nil
}

// shuffledProfile is the profile of a shuffle as a part of something larger.
func shuffledProfile(e Shuffled, rel Relation, here string) (profile, *Unsupported) {
	l, u := localReport(e, rel, here)
	if u != nil {
		return profile{}, u
	}
	// The analysis for any randomizer: dozens of points are needed, and the exact
	// sums for k-ary randomized response cost too much for that.
	l.k = 0
	return profile{at: tableOf(l).delta, pure: l.eps0, knee: math.Inf(1), cost: 1}, nil
}

// chords are the tables of the shuffles that were asked about last: a plan asks many times about a few.
var chords = struct {
	sync.Mutex
	kept map[local]*chordTable
}{kept: map[local]*chordTable{}}

// tableOf returns the table of a shuffle, the same one to all who ask.
func tableOf(l local) *chordTable {
	chords.Lock()
	defer chords.Unlock()
	t := chords.kept[l]
	if t == nil {
		if len(chords.kept) == 256 { // some hundred kB
			clear(chords.kept)
		}
		t = &chordTable{of: l.delta, top: l.eps0}
		chords.kept[l] = t
	}
	return t
}

// chordTable evaluates a costly profile at a few dozen points, on first use, and joins them
// by chords in e^ε. A profile is convex in e^ε, so the chords lie above it.
type chordTable struct {
	of   func(eps float64) float64
	top  float64 // delta is 0 from here on
	once sync.Once
	eps  []float64
	val  []float64
}

// nodes of the table: 0 and a geometric grid up to top.
const tableNodes = 72

func (t *chordTable) fill() {
	t.eps = append(t.eps, 0)
	for i := range tableNodes {
		// Dense where shuffled profiles live, from top/10^5 to top.
		t.eps = append(t.eps, t.top*math.Pow(10, -5*(1-float64(i+1)/tableNodes)))
	}
	for i, e := range t.eps {
		v := 1.0
		switch {
		case e >= t.top:
			v = 0
		case i > 0 && t.val[i-1] < 1e-40:
			// Deeper tails cost much and change nothing that is asked for.
			v = t.val[i-1]
		default:
			v = t.of(e)
		}
		if i > 0 {
			v = math.Min(v, t.val[i-1])
		}
		t.val = append(t.val, v)
	}
}

func (t *chordTable) delta(eps float64) float64 {
	if eps >= t.top {
		return 0
	}
	t.once.Do(t.fill)
	i := sort.SearchFloat64s(t.eps, eps)
	if i < len(t.eps) && t.eps[i] == eps || i == 0 {
		return t.val[i]
	}
	if i == len(t.eps) {
		return t.val[i-1]
	}
	lo, hi := t.eps[i-1], t.eps[i]
	w := math.Expm1(eps-lo) / math.Expm1(hi-lo)
	return math.Min(1, above(t.val[i-1]+w*(t.val[i]-t.val[i-1]), 1e-12))
}

func (e Shuffled) basic(rel Relation, here string, k float64) (profile, *Unsupported) {
	p, u := shuffledProfile(e, rel, here)
	if u != nil {
		return profile{}, u
	}
	return p.group(k), nil
}

// pair is the worst pair with the profile of a shuffle.
func (e Shuffled) pair(rel Relation, here string) (lossPair, *Unsupported) {
	p, u := shuffledProfile(e, rel, here)
	if u != nil {
		return lossPair{}, u
	}
	if p.pure == 0 {
		return lossPair{mech: pld.Approx(0, 0)}, nil
	}
	return lossPair{mech: p.pair(), profiled: true}, nil
}
