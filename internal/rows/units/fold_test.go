package units

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/dprelease/dprelease/internal/data/table"
)

// person is a row of the tests: its unit, or none, and its values, or none.
type person struct {
	key    string // "" names no unit
	number float64
	there  bool
	code   int32 // -1 is missing
	truth  int32
	pass   []bool
}

var (
	domain = []string{"a", "b", "c", "d", "e"}
	truths = []string{"false", "true"}
)

func testFolds() []Fold {
	var all []Fold
	for _, by := range []string{FoldSum, FoldMean, FoldMin, FoldMax, FoldCount, FoldAny, FoldAll} {
		all = append(all, Fold{Column: "number_" + by, By: by, Number: true, Lower: -10, Upper: 100})
	}
	for _, by := range []string{FoldMin, FoldMax, FoldCount, FoldMode} {
		all = append(all, Fold{Column: "code_" + by, By: by, Domain: domain})
	}
	for _, by := range []string{FoldAny, FoldAll} {
		all = append(all, Fold{Column: "truth_" + by, By: by, Domain: truths})
	}
	return all
}

// people makes a table. Values are often alike, so that ties occur.
func people(r *rand.Rand, rows, units, views int, nulls bool) []person {
	all := make([]person, rows)
	for i := range all {
		p := person{key: strconv.Itoa(1 + r.IntN(units)), there: r.IntN(10) > 0, code: int32(r.IntN(6)) - 1, truth: int32(r.IntN(3)) - 1, pass: make([]bool, views)}
		if nulls && r.IntN(20) == 0 {
			p.key = ""
		}
		switch r.IntN(8) {
		case 0:
			p.number = float64(r.IntN(3))
		case 1:
			p.number = math.NaN()
		case 2:
			p.number = math.Copysign(0, -1)
		case 3:
			p.number = r.NormFloat64() * math.Pow(10, float64(r.IntN(12)))
		default:
			p.number = r.NormFloat64() * 50
		}
		for v := range p.pass {
			p.pass[v] = v == 0 || r.IntN(v+1) > 0
		}
		all[i] = p
	}
	return all
}

// keyShape is the type of the keys in the unit column.
type keyShape int

const (
	asInts keyShape = iota
	asFloats
	asTexts
	keyShapes
)

// columnsOf turns rows into what Add takes.
func columnsOf(rows []person, shape keyShape, folds []Fold, views int) (unit table.Values, columns []table.Values, masks [][]byte) {
	n := len(rows)
	bitmap := func(has func(p *person) bool) []byte {
		b := make([]byte, (n+7)/8)
		for i := range rows {
			if has(&rows[i]) {
				b[i>>3] |= 1 << (i & 7)
			}
		}
		return b
	}
	unit.Valid = bitmap(func(p *person) bool { return p.key != "" })
	switch shape {
	case asInts:
		unit.Int64 = make([]int64, n)
	case asFloats:
		unit.Float64 = make([]float64, n)
	default:
		unit.Codes, unit.DictID = make([]int32, n), table.NewDictID()
	}
	for i, p := range rows {
		if p.key == "" {
			continue
		}
		k, _ := strconv.ParseInt(p.key, 10, 64)
		switch shape {
		case asInts:
			unit.Int64[i] = k * 1e15
		case asFloats:
			unit.Float64[i] = float64(k)
		default:
			text := "key " + p.key
			c := slices.Index(unit.Dict, text)
			if c < 0 || i%7 == 0 { // a dictionary may hold a text twice
				c, unit.Dict = len(unit.Dict), append(unit.Dict, text)
			}
			unit.Codes[i] = int32(c)
		}
	}
	numbers := table.Values{Kind: table.Float, Float64: make([]float64, n), Valid: bitmap(func(p *person) bool { return p.there })}
	codes := table.Values{Kind: table.String, Codes: make([]int32, n), Dict: domain}
	truth := table.Values{Kind: table.String, Codes: make([]int32, n), Dict: truths}
	for i, p := range rows {
		numbers.Float64[i], codes.Codes[i], truth.Codes[i] = p.number, p.code, p.truth
	}
	for _, f := range folds {
		switch {
		case f.Number:
			columns = append(columns, numbers)
		case len(f.Domain) == len(domain):
			columns = append(columns, codes)
		default:
			columns = append(columns, truth)
		}
	}
	for v := range views {
		masks = append(masks, bitmap(func(p *person) bool { return p.pass[v] }))
	}
	masks[0] = nil
	return unit, columns, masks
}

// folded returns the output of a Scan: for each unit and column a number, a code, or nothing.
func folded(t testing.TB, u *FoldedUnits, view int, folds []Fold) (all []map[string]string) {
	t.Helper()
	names := make([]string, len(folds))
	for i := range folds {
		names[i] = folds[i].Column
	}
	err := u.View(view).Scan(context.Background(), table.ScanOptions{Columns: names}, func(b table.Batch) error {
		for i := range b.Rows {
			row := map[string]string{}
			for c, v := range b.Columns {
				if !v.Null(i) {
					row[names[c]] = text(&v, i)
				}
			}
			all = append(all, row)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(all)) != u.Units() || u.View(view).Rows() != u.Units() {
		t.Fatalf("%d rows were delivered of %d units", len(all), u.Units())
	}
	return all
}

func text(v *table.Values, i int) string {
	if v.Codes != nil {
		return v.Dict[v.Codes[i]]
	}
	return fmt.Sprint(v.Float64[i])
}

// reference folds as slowly and plainly as possible.
func reference(rows []person, null NullUnits, folds []Fold, view int) (all []map[string]string) {
	var order []string
	units := map[string][]person{}
	for i, p := range rows {
		if p.key == "" {
			if null == DropNulls {
				continue
			}
			p.key = fmt.Sprint("row ", i)
		}
		if units[p.key] == nil {
			order = append(order, p.key)
		}
		units[p.key] = append(units[p.key], p)
	}
	for _, key := range order {
		passed := slices.DeleteFunc(slices.Clone(units[key]), func(p person) bool { return !p.pass[view] })
		row := map[string]string{}
		for _, f := range folds {
			if x := plainFold(passed, f); len(passed) > 0 && x != "" {
				row[f.Column] = x
			}
		}
		all = append(all, row)
	}
	return all
}

func plainFold(rows []person, f Fold) string {
	var numbers []float64
	var codes []int32
	for _, p := range rows {
		code := p.code
		if len(f.Domain) == len(truths) {
			code = p.truth
		}
		if f.Number && p.there && p.number == p.number {
			numbers = append(numbers, p.number+0)
		} else if !f.Number && code >= 0 {
			codes = append(codes, code)
		}
	}
	n := len(numbers) + len(codes)
	switch {
	case f.By == FoldCount:
		return fmt.Sprint(float64(n))
	case n == 0:
		return ""
	case f.Number:
		return fmt.Sprint(plainNumber(numbers, f))
	}
	counts := make([]int, len(f.Domain))
	for _, c := range codes {
		counts[c]++
	}
	slices.Sort(codes)
	code := codes[0]
	switch f.By {
	case FoldMax, FoldAny:
		code = codes[n-1]
	case FoldMode:
		code = int32(slices.Index(counts, slices.Max(counts)))
	}
	return f.Domain[code]
}

func plainNumber(x []float64, f Fold) float64 {
	truth := map[bool]float64{true: 1}
	zero := func(x float64) bool { return x == 0 }
	switch f.By {
	case FoldMin:
		return slices.Min(x)
	case FoldMax:
		return slices.Max(x)
	case FoldAny:
		return truth[!slices.ContainsFunc(x, zero) || slices.ContainsFunc(x, func(x float64) bool { return x != 0 })]
	case FoldAll:
		return truth[!slices.ContainsFunc(x, zero)]
	}
	sum := new(big.Rat)
	for _, v := range x {
		sum.Add(sum, plainGrains(v, f))
	}
	if f.By == FoldMean {
		sum.Quo(sum, new(big.Rat).SetInt64(int64(len(x))))
	}
	out, _ := sum.Float64()
	return out
}

// plainGrains rounds a value to the nearest grain of the fold, ties to even, and holds it to the limit.
func plainGrains(v float64, f Fold) *big.Rat {
	power := 1.0
	for power < math.Max(-f.Lower, f.Upper) {
		power *= 2
	}
	grain := new(big.Rat).SetFloat64(power / (1 << 60))
	limit := new(big.Rat).SetFloat64(power * (1 << 30))
	if math.IsInf(v, 0) {
		v = math.Copysign(math.MaxFloat64, v)
	}
	x := new(big.Rat).SetFloat64(v)
	if new(big.Rat).Abs(x).Cmp(limit) > 0 {
		return limit.Mul(limit, big.NewRat(int64(x.Sign()), 1))
	}
	x.Quo(x, grain)
	half := new(big.Rat).Add(x, big.NewRat(1, 2))
	n := new(big.Int).Div(half.Num(), half.Denom()) // floor
	if half.IsInt() && n.Bit(0) == 1 {
		n.Sub(n, big.NewInt(1))
	}
	return new(big.Rat).Mul(new(big.Rat).SetInt(n), grain)
}

// foldAll numbers rows and folds them, in blocks of random sizes.
func foldAll(t testing.TB, r *rand.Rand, rows []person, shape keyShape, null NullUnits, spec FoldSpec) *FoldedUnits {
	t.Helper()
	all, x := numbersOf(t, r, rows, shape, IndexSpec{Null: null, Memory: spec.Memory, Dir: spec.Dir})
	spec.Units, spec.Rows = x.Units(), x.Rows()
	f, err := NewFolder(spec)
	if err != nil {
		t.Fatal(err)
	}
	for left := rows; len(left) > 0; {
		n := min(len(left), 1+r.IntN(1000))
		_, columns, masks := columnsOf(left[:n], shape, spec.Columns, spec.Views)
		if err := f.Add(all[:n], columns, masks); err != nil {
			t.Fatal(err)
		}
		left, all = left[n:], all[n:]
	}
	if spec.Memory == 1 && f.late.disk == nil {
		t.Fatal("nothing was written to the disk")
	}
	u, err := f.Finish()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { u.Close() })
	return u
}

func TestFoldsAreWhatAPlainFoldSays(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 1))
		shape := keyShape(seed) % keyShapes
		null := []NullUnits{DropNulls, OwnNulls}[seed%2]
		rows := people(r, 1+r.IntN(4000), 1+r.IntN(500), 3, seed%4 > 0)
		spec := FoldSpec{Columns: testFolds(), Views: 3}
		u := foldAll(t, r, rows, shape, null, spec)
		for view := range spec.Views {
			got, want := folded(t, u, view, spec.Columns), reference(rows, null, spec.Columns, view)
			if len(got) != len(want) {
				t.Fatalf("seed %d: %d units instead of %d", seed, len(got), len(want))
			}
			for i := range want {
				if fmt.Sprint(got[i]) != fmt.Sprint(want[i]) {
					t.Fatalf("seed %d, view %d, unit %d:\n%v\n%v", seed, view, i, got[i], want[i])
				}
			}
		}
	}
}
