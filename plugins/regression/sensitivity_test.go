package regression

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

// every is all records on a grid of corners, middles and missing values.
func every(features []string, weights []float64) []record {
	all := []record{{distance: distance.Lower, hour: hour.Lower, delay: delay.Lower, weight: weights[0]}}
	vary := func(n int, set func(r *record, k int)) {
		var next []record
		for _, r := range all {
			for k := range n {
				set(&r, k)
				next = append(next, r)
			}
		}
		all = next
	}
	number := func(c sdk.Column, k int) float64 {
		return []float64{c.Lower, c.Lower + (c.Upper-c.Lower)/2, c.Upper, c.Lower + (c.Upper-c.Lower)/3}[k]
	}
	for _, f := range features {
		switch f {
		case "distance":
			vary(4, func(r *record, k int) { r.distance = number(distance, k) })
		case "hour":
			vary(4, func(r *record, k int) {
				if r.hour = math.NaN(); k < 3 {
					r.hour = number(hour, k)
				}
			})
		case "carrier":
			vary(3, func(r *record, k int) { r.carrier = int32(k) })
		case "weekend":
			vary(3, func(r *record, k int) { r.weekend = int32(k - 1) })
		}
	}
	vary(4, func(r *record, k int) { r.delay = number(delay, k) })
	vary(len(weights), func(r *record, k int) { r.weight = weights[k] })
	return all
}

// moves are the largest distances between the sums of neighbouring tables, over all
// pairs of one-row tables and the empty one: the sums are additive, so that larger
// tables add nothing.
type moves struct{ add1, add2, replace1, replace2 float64 }

func worst(t *testing.T, l *layout, records []record, weighted bool) moves {
	t.Helper()
	vectors := make([][]int64, len(records))
	for i, r := range records {
		vectors[i] = make([]int64, l.sums.n)
		tab := table([]record{r}, weighted)
		var columns []sdk.Values
		for _, c := range l.columns() {
			columns = append(columns, tab.Columns[c.Name])
		}
		l.addBatch(vectors[i], &sdk.Batch{Rows: 1, Columns: columns, Weights: tab.Weights})
	}
	var m moves
	for i, v := range vectors {
		l1, l2 := norms(v, make([]int64, len(v)))
		m.add1, m.add2 = max(m.add1, l1), max(m.add2, l2)
		for _, w := range vectors[:i] {
			l1, l2 := norms(v, w)
			m.replace1, m.replace2 = max(m.replace1, l1), max(m.replace2, l2)
		}
	}
	return m
}

// addBatch adds the rows of a batch as a release does.
func (l *layout) addBatch(total []int64, b *sdk.Batch) {
	block, _ := linear.Cells{N: 1}.Block(b, b.Columns, nil)
	l.add(block, total)
}

// claim is the declaration of the sums.
func (l *layout) claim() sdk.Claim {
	return l.sums.reach().Claim(sdk.Units{Cells: 1, Groups: 1, Rows: 1, Leaves: l.rows == 0})
}

// norms are exact but for the last rounding: differences are below 2^31, and their
// squares add up in 128 bits.
func norms(a, b []int64) (l1, l2 float64) {
	var one int64
	two := new(big.Int)
	for i := range a {
		d := a[i] - b[i]
		one += max(d, -d)
		two.Add(two, new(big.Int).Mul(big.NewInt(d), big.NewInt(d)))
	}
	f, _ := new(big.Float).Sqrt(new(big.Float).SetPrec(200).SetInt(two)).Float64()
	return float64(one), f
}

func (m moves) within(l1, l2 privacy.Sensitivity) bool {
	return m.add1 <= l1.AddRemove && m.add2 <= l2.AddRemove && m.replace1 <= l1.ReplaceOne && m.replace2 <= l2.ReplaceOne
}

// Every pair of neighbours on the grid is within the declared sensitivities, which are
// attained where the number of columns allows it. The twin, whose sensitivities are √2
// too small, is caught on every shape.
func TestSensitivityEnumerated(t *testing.T) {
	for _, c := range []struct {
		features []string
		weighted bool
		exact    bool // replace-one is attained: an even number of columns, no category
	}{
		{[]string{"distance"}, false, false}, {[]string{"distance", "hour"}, false, true}, {[]string{"hour"}, true, false},
		{[]string{"distance", "carrier"}, false, true}, {[]string{"carrier", "weekend"}, false, false},
		{[]string{"distance", "carrier"}, true, true}, {[]string{"distance", "hour", "weekend"}, false, false},
	} {
		for _, rel := range []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne} {
			population := int64(0)
			if rel == privacy.ReplaceOne {
				population = 1
			}
			req := request(rel, population, fmt.Sprintf(`{"target":"delay","features":["%s"]}`, strings.Join(c.features, `","`)))
			weights := []float64{1}
			if c.weighted {
				req.Public.Design = sdk.Design{Kind: "stratified", MinWeight: 1, MaxWeight: 8}
				weights = []float64{8, 3}
			}
			l, err := newLayout(req)
			if err != nil {
				t.Fatal(err)
			}
			m := worst(t, l, every(c.features, weights), c.weighted)
			l1, l2 := l.claim().L1, l.claim().L2
			if !m.within(l1, l2) {
				t.Errorf("%v under %s: moves by %+v, declared %v and %v", c.features, rel, m, l1, l2)
			}
			if m.add2 < 0.999999*l2.AddRemove || m.add1 < 0.999999*l1.AddRemove || c.exact && m.replace2 < 0.999999*l2.ReplaceOne {
				t.Errorf("%v under %s: moves by %+v only, declared %v and %v", c.features, rel, m, l1, l2)
			}
			for _, s := range []privacy.Sensitivity{l1, l2} { // the broken twins
				small := privacy.Sensitivity{AddRemove: s.AddRemove / math.Sqrt2, ReplaceOne: s.ReplaceOne / math.Sqrt2}
				one, two := l1, l2
				if s == l1 {
					one = small
				} else {
					two = small
				}
				if m.within(one, two) {
					t.Errorf("%v under %s: a sensitivity that is too small by √2 is not noticed", c.features, rel)
				}
			}
		}
	}
}

// Random records of many columns stay within the sensitivities, too.
func TestSensitivityOfRandomRecords(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	pick := func(c sdk.Column) float64 {
		return []float64{c.Lower, c.Upper, c.Lower + (c.Upper-c.Lower)*rng.Float64()}[rng.IntN(3)]
	}
	for range 40 {
		weighted := rng.IntN(2) == 0
		req := request(privacy.AddRemove, 0, `{"target":"delay","features":["carrier","distance","weekend","hour"],"log":["hour"]}`)
		if weighted {
			req.Public.Design = sdk.Design{Kind: "multistage", MinWeight: 1, MaxWeight: 7.3}
		}
		l, err := newLayout(req)
		if err != nil {
			t.Fatal(err)
		}
		var records []record
		for range 60 {
			r := record{pick(distance), pick(hour), pick(delay), int32(rng.IntN(3)), int32(rng.IntN(3) - 1), 1 + 6.3*rng.Float64()}
			if rng.IntN(6) == 0 {
				r.hour = math.NaN()
			}
			records = append(records, r)
		}
		if c := l.claim(); !worst(t, l, records, weighted).within(c.L1, c.L2) {
			t.Fatal("two records are further apart than declared")
		}
	}
}

// An empty row, and a row that lacks a value, add nothing.
func TestMissingRowsAddNothing(t *testing.T) {
	l, err := newLayout(request(privacy.AddRemove, 0, `{"target":"delay","features":["hour","weekend"]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []record{{hour: math.NaN(), delay: 3}, {hour: 2, weekend: -1, delay: 3}} {
		tab := table([]record{r}, false)
		b := &sdk.Batch{Rows: 1, Columns: []sdk.Values{tab.Columns["hour"], tab.Columns["weekend"], tab.Columns["delay"]}}
		total := make([]int64, l.sums.n)
		if l.addBatch(total, b); slices.ContainsFunc(total, func(x int64) bool { return x != 0 }) {
			t.Errorf("a row without a value adds %v", total)
		}
	}
}

// halved declares sensitivities that are √2 too small, and asks for noise by them.
type halved struct{ Mechanism }

func small(e privacy.Event) privacy.Event {
	ev := e.(privacy.DiscreteGaussian)
	ev.Sensitivity.AddRemove /= math.Sqrt2
	ev.Sensitivity.ReplaceOne /= math.Sqrt2
	ev.Sigma = math.Ceil(ev.Sigma / math.Sqrt2)
	return ev
}

func (h halved) Plan(req sdk.PlanRequest) (sdk.Plan, error) {
	p, err := h.Mechanism.Plan(req)
	if ev, ok := p.Event.(privacy.DiscreteGaussian); ok {
		p.Event = small(ev)
	} else if err == nil {
		return p, fmt.Errorf("the twin has gaussian noise only")
	}
	return p, err
}

type halvedHost struct {
	sdk.Host
	planned privacy.DiscreteGaussian
}

func (h halvedHost) AddGaussian(ctx context.Context, _ privacy.DiscreteGaussian, v []int64) ([]int64, error) {
	return h.Host.AddGaussian(ctx, h.planned, v)
}

func (h halved) Release(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host) (sdk.Result, error) {
	l, err := newLayout(req.PlanRequest)
	if err != nil {
		return sdk.Result{}, err
	}
	planned := req.Plan.Event.(privacy.DiscreteGaussian)
	own := planned
	own.Sensitivity = l.claim().L2
	req.Plan.Event = own
	return h.Mechanism.Release(ctx, req, rows, halvedHost{host, planned})
}

// The conformance suite finds nothing in the mechanism, and finds the twin.
func TestConformance(t *testing.T) {
	sdktest.Test(t, Mechanism{}, sdktest.Config{Seed: 1, Releases: tier.Of(20, 100)})
	r, err := sdktest.Check(t.Context(), sdktest.InProcess(halved{}), sdktest.Config{Seed: 1, Releases: -1})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Found("l2-sensitivity") {
		t.Errorf("the twin is not caught: %+v", r.Findings)
	}
}
