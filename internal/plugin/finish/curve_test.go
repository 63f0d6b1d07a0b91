package finish

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// bent is a query whose numbers are curves of x, on bounds that are near what they need or not.
func bent(rng *rand.Rand, low, high float64) sdk.Query {
	var q sdk.Query
	literal := func() string { return fmt.Sprintf("%v", math.Round(1e3*(4*rng.Float64()-2))/1e3) }
	line := func() string {
		return []string{"x", "x - " + fmt.Sprint(low), fmt.Sprint(high) + " - x", "(x - " + fmt.Sprint(low) + ") / 3.0", "(" + literal() + ") * x + (" +
			literal() + ")", "-x * 0.1", literal(), "1"}[rng.IntN(8)]
	}
	for range 1 + rng.IntN(4) {
		text := line()
		if rng.IntN(3) == 0 {
			text = "(" + text + ") * (" + []string{text, line()}[rng.IntN(2)] + ")"
		}
		f := func(v float64) float64 { return v }
		c := sdk.Coordinate{Value: text}
		switch most := 4 * math.Max(math.Abs(low), math.Abs(high)); rng.IntN(3) {
		case 0:
			c.Low, c.High = -most*most, most*most
		case 1:
			c.Low, c.High = 0, f(most)
		default:
			c.Low = most * (2*rng.Float64() - 1)
			c.High = c.Low + most*rng.Float64()
		}
		c.Lattice = math.Ldexp(1, rng.IntN(12)-10)
		q.Coordinates = append(q.Coordinates, c)
	}
	return q
}

// vectors are the vectors of rows with values between bounds, missing ones among them, and weights.
func vectors(t *testing.T, rng *rand.Rand, q *Queries, low, high float64) (out [][]int64) {
	t.Helper()
	xs := []float64{low, high, math.NaN(), (low + high) / 2, 0}
	for range 25 {
		x := low + (high-low)*rng.Float64()
		if rng.IntN(2) == 0 { // at half a step
			l := q.all[0].coordinates[rng.IntN(len(q.all[0].coordinates))].Lattice
			x = math.Min(math.Max(l*(math.Floor(x/l)+0.5), low), high)
		}
		xs = append(xs, x)
	}
	weights := [][]float64{nil}
	if q.weights != [2]float64{1, 1} {
		weights = append(weights, []float64{q.weights[0]}, []float64{q.weights[1]}, []float64{(q.weights[0] + q.weights[1]) / 2})
	}
	for _, x := range xs {
		for _, w := range weights {
			clear(q.all[0].sums)
			b := sdk.Batch{Rows: 1, Weights: w}
			for range q.Columns {
				b.Columns = append(b.Columns, sdk.Values{Float64: []float64{x}})
			}
			if err := q.Write(b); err != nil {
				t.Fatal(err)
			}
			out = append(out, append([]int64(nil), q.Sums()[0]...))
		}
	}
	return out
}

// longest are the lengths of the longest vector, and of the longest difference of two of them, or one and 0.
func longest(all [][]int64) (arrive, swap sdk.Norms) {
	var most [2][2]int64
	for i, a := range all {
		for k, b := range slices.Concat([][]int64{make([]int64, len(a))}, all[:i]) {
			one, square := int64(0), int64(0)
			for j := range a {
				d := a[j] - b[j]
				one, square = one+max(d, -d), square+d*d
			}
			if most[1] = [2]int64{max(most[1][0], one), max(most[1][1], square)}; k == 0 {
				most[0] = [2]int64{max(most[0][0], one), max(most[0][1], square)}
			}
		}
	}
	return sdk.Norms{L1: big.NewInt(most[0][0]), Square: big.NewInt(most[0][1])}, sdk.Norms{L1: big.NewInt(most[1][0]), Square: big.NewInt(most[1][1])}
}

func beyond(l, bound sdk.Norms) bool { return l.L1.Cmp(bound.L1) > 0 || l.Square.Cmp(bound.Square) > 0 }

// P39: no row whose numbers are curves of one column adds more than its reach, and no two differ by more, whatever floats, bounds, weights
// and the lattice do to it. The reach is often smaller than the box. Twins that forget one end, the lattice, what is held, which way it bends
// or that a row may take the place of another are refuted.
func TestReachAlongACurve(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	smaller, refuted := 0, map[string]int{}
	for range 400 {
		low := math.Round(8*(4*rng.Float64()-2)) / 8
		high := low + math.Round(8*3*rng.Float64())/8 + 0.125
		public := publicOf(x(low, high))
		if rng.IntN(3) == 0 {
			public.Design.EqualWeights, public.Design.MinWeight, public.Design.MaxWeight = false, []float64{0, 0.5, 2}[rng.IntN(3)], 2.5
		}
		q, err := NewQueries(planOf(bent(rng, low, high)), public, "", 1)
		if err != nil {
			continue
		}
		own := q.all[0]
		r, along := own.reach()
		arrive, swap := longest(vectors(t, rng, q, low, high))
		if beyond(arrive, r.Arrive) || beyond(swap, r.Replace) {
			t.Fatalf("%+v on [%v, %v], weights %v: moves by %v and %v, claimed %v and %v", own.coordinates, low, high, q.weights, arrive, swap,
				r.Arrive, r.Replace)
		}
		if along {
			smaller++
		}
		if own.along == nil {
			continue
		}
		if beyond(swap, r.Arrive) && along {
			refuted["arrive as swap"]++
		}
		if beyond(swap, sdk.Norms{L1: double(r.Arrive.L1), Square: double(r.Arrive.Square)}) {
			refuted["both sides of 0"]++
		}
		if q.weights != [2]float64{1, 1} {
			continue
		}
		inward, held := false, false
		for _, c := range own.coordinates {
			curve, ok := own.along.curve(c.root)
			inward = inward || !ok || !curve.outward(own.along)
			for _, y := range curve.extremes(own.along) {
				held = held || y.Cmp(ratio(c.Low)) < 0 || y.Cmp(ratio(c.High)) > 0
			}
		}
		d := int64(len(own.coordinates))
		switch two, one := ends(own, own.along.low, own.along.high), ends(own, own.along.low); {
		case inward && beyond(arrive, slack(two, d)):
			refuted["the ends of what bends inward"]++
		case held && !inward && beyond(arrive, slack(two, d)):
			refuted["the ends of what is held"]++
		case !held && !inward && beyond(arrive, two):
			refuted["the ends without the lattice"]++
		case !held && !inward && beyond(arrive, slack(one, d)):
			refuted["one end"]++
		}
	}
	if smaller < 150 || len(refuted) < 6 {
		t.Errorf("%d bounds are smaller than a box; refuted: %v", smaller, refuted)
	}
}

// ends is the length, rounded up, of the longest vector at some values of the column, where nothing is held or rounded to a lattice.
func ends(q *query, at ...*big.Rat) sdk.Norms {
	one, square := new(big.Rat), new(big.Rat)
	for _, x := range at {
		a, b := new(big.Rat), new(big.Rat)
		for i := range q.coordinates {
			c, _ := q.along.curve(q.coordinates[i].root)
			y := magnitude(product(c.at(x), ratio(q.coordinates[i].inverse)))
			a, b = added(a, y), added(b, product(y, y))
		}
		one, square = greater(one, a), greater(square, b)
	}
	zero := new(big.Rat)
	l := *longer(one, square, zero, zero)
	return sdk.Norms{L1: l.L1.Add(l.L1, big.NewInt(1)), Square: l.Square.Add(l.Square, big.NewInt(1))}
}

// slack is more than what d numbers gain on a lattice.
func slack(l sdk.Norms, d int64) sdk.Norms {
	root := new(big.Int).Sqrt(l.Square)
	root.Add(root, big.NewInt(d+1))
	return sdk.Norms{L1: new(big.Int).Add(l.L1, big.NewInt(d)), Square: root.Mul(root, root)}
}

// A mean's sums of distances from both bounds share a total, as do the three sums of a variance: they cost as much as one count, by
// which plugins/linear bounds them too. A centred sum beside a count costs no more than the sum where rows are replaced.
func TestReachOfMeansAndVariances(t *testing.T) {
	share := func(text string, most float64) sdk.Coordinate { return sdk.Coordinate{Value: text, High: most} }
	const t0, t1 = "((x - 10.0) / 90.0)", "((100.0 - x) / 90.0)"
	mean := []sdk.Coordinate{share("x - 10.0", 90), share("100.0 - x", 90)}
	variance := []sdk.Coordinate{share(t0+" * "+t0, 1), share("2.0 * "+t0+" * "+t1, 1), share(t1+" * "+t1, 1)}
	beside := []sdk.Coordinate{{Value: "x - 55.0", Low: -45, High: 45}, share("45", 45)}
	for name, c := range map[string]struct {
		coordinates []sdk.Coordinate
		want        [4]float64 // L1 of a row that comes and that is replaced, and L2
	}{
		"mean":     {mean, [4]float64{90, 180, 90, 90 * math.Sqrt2}},
		"variance": {variance, [4]float64{1, 2, 1, math.Sqrt2}},
		"beside":   {beside, [4]float64{90, 90, 45 * math.Sqrt2, 90}},
	} {
		q, err := NewQueries(planOf(sdk.Query{Coordinates: c.coordinates}), publicOf(x(10, 100)), "", 1)
		if err != nil {
			t.Fatal(name, err)
		}
		got := [4]float64{q.Claims[0].L1.AddRemove, q.Claims[0].L1.ReplaceOne, q.Claims[0].L2.AddRemove, q.Claims[0].L2.ReplaceOne}
		for k, want := range c.want {
			if steps := want / q.all[0].coordinates[0].Lattice; got[k] < steps || got[k] > steps*(1+1e-5) {
				t.Errorf("%s: %v steps, and the vectors move by %v", name, got, steps)
			}
		}
	}
}

// What is no curve, or bends inward, keeps the box.
func TestNoCurve(t *testing.T) {
	i := intervalOf(x(-1, 3))
	for _, text := range []string{"x * (3.0 - x)", "x * x * x", "x * x - 1.0", "abs(x)", "sqrt(x)", "1.0 / x", "x % 2.0", "x > 1.0 ? x : 0.0", "1e200 * x * 1e200",
		"min(x, 1.0)", "1e300 * x * 1e10"} {
		q, err := NewQueries(planOf(sdk.Query{Coordinates: []sdk.Coordinate{{Value: text, High: 1}}}), publicOf(x(-1, 3)), "", 1)
		if err != nil {
			t.Fatal(text, err)
		}
		if c, ok := i.curve(q.all[0].coordinates[0].root); ok && c.outward(i) {
			t.Errorf("%s is a curve", text)
		}
	}
	for _, c := range []sdk.Column{{Name: "x", Type: sdk.Number, Lower: math.Inf(-1), Upper: 1}, {Name: "x", Type: sdk.Number, Lower: math.NaN(), Upper: 1},
		{Name: "x", Type: sdk.Number, Lower: 2, Upper: 1}, group("a")} {
		if intervalOf(c) != nil {
			t.Errorf("%+v has an interval", c)
		}
	}
}

// Values beyond the bounds of the column are held to them where the reach rests on the bounds; what is no number still adds nothing.
func TestValuesAreHeldToTheCurve(t *testing.T) {
	wide := sdk.Query{Coordinates: []sdk.Coordinate{{Value: "x", Low: -100, High: 100, Lattice: 1}, {Value: "3.0 - x", Low: -100, High: 100, Lattice: 1}}}
	w := world{name: "wide", queries: []sdk.Query{wide}, public: publicOf(x(-1, 3))}
	for value, want := range map[float64]int64{50: 3, -50: -1, 2: 2, math.Inf(1): 0} {
		for _, rows := range []int{1, 5000} {
			b := sdk.Batch{Rows: rows, Columns: []sdk.Values{{Float64: make([]float64, rows)}}}
			for i := range rows {
				b.Columns[0].Float64[i] = value
			}
			if v := w.vectorOf(t, b); v[0] != want*int64(rows) {
				t.Errorf("%v in %d rows adds %v", value, rows, v)
			}
			if b.Columns[0].Float64[0] != value {
				t.Error("the batch was changed")
			}
		}
	}
}
