package units

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dprelease/dprelease/internal/data/table"
)

// A unit's folded row does not change when the rows of other units come, go or move, and not with the order of its own
// (P22). This is checked for all tables of up to three units with up to three rows each on three values and two groups.
func TestAFoldedRowIsItsUnitsAlone(t *testing.T) {
	folds := []Fold{{Column: "sum", By: FoldSum, Number: true, Upper: 1}, {Column: "max", By: FoldMax, Number: true, Upper: 1}, {Column: "mode", By: FoldMode, Domain: domain}}
	if n := differences(t, folds, foldBy); n != 0 {
		t.Errorf("the folded row of a unit differs from what its own rows say, %d times", n)
	}
	for name, broken := range map[string]func(t *testing.T, rows []person, folds []Fold) map[string]string{
		"a cap on the rows of the table": func(t *testing.T, rows []person, folds []Fold) map[string]string {
			return foldBy(t, rows[:min(len(rows), 4)], folds)
		},
		"the first row of a unit": func(t *testing.T, rows []person, folds []Fold) map[string]string {
			var some []person
			for _, p := range rows {
				if !slices.ContainsFunc(some, func(q person) bool { return q.key == p.key }) {
					some = append(some, p)
				}
			}
			return foldBy(t, some, folds)
		},
	} {
		if differences(t, folds, broken) == 0 {
			t.Errorf("%s: nothing is noticed", name)
		}
	}
}

// foldBy folds rows and returns each unit's results.
func foldBy(t *testing.T, rows []person, folds []Fold) map[string]string {
	t.Helper()
	u := foldAll(t, rand.New(rand.NewPCG(1, 1)), rows, asInts, RefuseNulls, FoldSpec{Columns: folds, Views: 1})
	all := folded(t, u, 0, folds)
	out, at := map[string]string{}, 0
	for _, p := range rows {
		if _, known := out[p.key]; !known {
			out[p.key] = fmt.Sprint(all[at])
			at++
		}
	}
	return out
}

// differences counts how often a unit's results in a table are not those of the table of its sorted rows alone.
func differences(t *testing.T, folds []Fold, fold func(t *testing.T, rows []person, folds []Fold) map[string]string) (n int) {
	kinds := []person{}
	for v := range 3 {
		for g := range int32(2) {
			kinds = append(kinds, person{number: float64(v) / 3, there: true, code: g, pass: []bool{true}})
		}
	}
	alone := map[string]string{}
	r := rand.New(rand.NewPCG(9, 9))
	for range 300 { // of the 10^6 tables, a fixed choice
		var rows []person
		for unit := range 1 + r.IntN(3) {
			for range 1 + r.IntN(3) {
				p := kinds[r.IntN(len(kinds))]
				p.key = fmt.Sprint(unit + 1)
				rows = append(rows, p)
			}
		}
		r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		for key, got := range fold(t, rows, folds) {
			var own []person
			for _, p := range rows {
				if p.key == key {
					p.key = "1"
					own = append(own, p)
				}
			}
			slices.SortFunc(own, func(a, b person) int {
				return slices.Compare([]float64{a.number, float64(a.code)}, []float64{b.number, float64(b.code)})
			})
			name := fmt.Sprint(own)
			if _, ok := alone[name]; !ok {
				alone[name] = foldBy(t, own, folds)["1"]
			}
			if alone[name] != got {
				n++
			}
		}
	}
	return n
}

func TestRowsWithoutAUnit(t *testing.T) {
	rows := []person{{key: "1", pass: []bool{true}}, {pass: []bool{true}}, {pass: []bool{true}}}
	unit, _, _ := columnsOf(rows, asTexts, nil, 1)
	for null, units := range map[NullUnits]int64{DropNulls: 1, OwnNulls: 3, RefuseNulls: 0} {
		x := must(NewIndex(IndexSpec{Null: null}))
		if err := x.Add(unit, 3); err != nil {
			t.Fatal(err)
		}
		err := x.Finish()
		if null == RefuseNulls {
			if !errors.Is(err, ErrNullKey) {
				t.Errorf("refuse: %v", err)
			}
			continue
		}
		if err != nil || x.Units() != units || x.NullRows() != 2 {
			t.Errorf("%s: %d units, %d rows without one, %v", null, x.Units(), x.NullRows(), err)
		}
	}
}

func TestBadSpecsAreRefused(t *testing.T) {
	good := Fold{Column: "x", By: FoldSum, Number: true, Upper: 1}
	for name, s := range map[string]FoldSpec{
		"no view":          {Columns: []Fold{good}},
		"too many units":   {Views: 1, Columns: []Fold{good}, Units: 1 << 31},
		"mode of a number": {Views: 1, Columns: []Fold{{By: FoldMode, Number: true, Upper: 1}}},
		"sum of a text":    {Views: 1, Columns: []Fold{{By: FoldSum, Domain: domain}}},
		"no domain":        {Views: 1, Columns: []Fold{{By: FoldCount}}},
		"bounds":           {Views: 1, Columns: []Fold{{By: FoldSum, Number: true, Lower: 2, Upper: 1}}},
		"any of letters":   {Views: 1, Columns: []Fold{{By: FoldAny, Domain: domain}}},
		"no such fold":     {Views: 1, Columns: []Fold{{By: "median", Number: true, Upper: 1}}},
	} {
		if _, err := NewFolder(s); err == nil {
			t.Errorf("%s: was taken", name)
		}
	}
	f := must(NewFolder(FoldSpec{Views: 1, Columns: []Fold{good}, Units: 2}))
	ids, texts := []int32{1}, table.Values{Codes: []int32{0}, Dict: domain}
	for name, err := range map[string]error{
		"no column":    f.Add(ids, nil, [][]byte{nil}),
		"texts":        f.Add(ids, []table.Values{texts}, [][]byte{nil}),
		"a first view": f.Add(ids, []table.Values{{Float64: []float64{1}}}, [][]byte{{1}}),
	} {
		if err == nil {
			t.Errorf("%s: was taken", name)
		}
	}
}

// Whole numbers, decimals and times become the numbers that mechanisms see.
func TestWholeNumbersAreWidened(t *testing.T) {
	spec := FoldSpec{Units: 1, Views: 1, Columns: []Fold{{Column: "x", By: FoldMax, Number: true, Upper: 1e20}}}
	for _, c := range []struct {
		v    table.Values
		want float64
	}{
		{table.Values{Int64: []int64{-7, 12}}, 12},
		{table.Values{Int64: []int64{3, -1}, Unsigned: true}, 1 << 64},
		{table.Values{Int64: []int64{150, 25}, Scale: 2}, 1.5},
		{table.Values{Int64: []int64{1500, 25}, Unit: table.Millisecond}, 1.5},
	} {
		f := must(NewFolder(spec))
		if err := f.Add([]int32{0, 0}, []table.Values{c.v}, [][]byte{nil}); err != nil {
			t.Fatal(err)
		}
		if got := folded(t, must(f.Finish()), 0, spec.Columns); len(got) != 1 || got[0]["x"] != fmt.Sprint(c.want) {
			t.Errorf("%v is %v, not %g", c.v, got, c.want)
		}
	}
}

// Scan has the meaning of a table's: blocks, picks, progress, memory that visit may write to.
func TestFoldedUnitsScanLikeATable(t *testing.T) {
	const units = 2*blockUnits + 77
	spec := FoldSpec{Units: units, Rows: units, Views: 2, Columns: []Fold{{Column: "x", By: FoldSum, Number: true, Upper: units}, {Column: "g", By: FoldMode, Domain: domain, Views: []int{1}}}}
	for _, memory := range []int64{0, 1 << 20} {
		spec.Memory, spec.Dir = memory, t.TempDir()
		f := must(NewFolder(spec))
		ids, x, g, mask := make([]int32, units), make([]float64, units), make([]int32, units), make([]byte, units/8+1)
		for i := range ids {
			ids[i], x[i], g[i] = int32(i), float64(i), int32(i%len(domain))
			if i%3 > 0 {
				mask[i>>3] |= 1 << (i & 7)
			}
		}
		if err := f.Add(ids, []table.Values{{Float64: x}, {Codes: g, Dict: domain}}, [][]byte{nil, mask}); err != nil {
			t.Fatal(err)
		}
		u := must(f.Finish())
		defer u.Close()
		if (u.disk != nil) != (memory > 0) {
			t.Fatal("the results are in the wrong place")
		}
		for range 2 { // what visit writes does not stay
			scanPicked(t, u, units)
		}
		if err := u.View(0).Scan(t.Context(), table.ScanOptions{Columns: []string{"g"}}, func(table.Batch) error { return nil }); err == nil {
			t.Error("a column that the view does not want was delivered")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := u.View(0).Scan(ctx, table.ScanOptions{}, func(table.Batch) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		stop := errors.New("stop")
		if err := u.View(0).Scan(t.Context(), table.ScanOptions{}, func(table.Batch) error { return stop }); !errors.Is(err, stop) {
			t.Errorf("an error of visit is %v", err)
		}
	}
}

// scanPicked takes every seventh unit of the first block, none of the second, and all of the last.
func scanPicked(t *testing.T, u *FoldedUnits, units int64) {
	t.Helper()
	var progress, seen []int64
	o := table.ScanOptions{Columns: []string{"g", "x"}, Progress: func(rows int64) { progress = append(progress, rows) }}
	o.Pick = func(b table.Block) (p table.Pick, err error) {
		switch b.First {
		case 0:
			for i := 0; i < b.Rows; i += 7 {
				p.Rows = append(p.Rows, uint32(i))
			}
		case 2 * blockUnits:
			p.All = true
		}
		return p, nil
	}
	err := u.View(1).Scan(t.Context(), o, func(b table.Batch) error {
		for i := range b.Rows {
			at := b.Block.First + int64(i)
			if !b.Picked.All {
				at = b.Block.First + int64(b.Picked.Rows[i])
			}
			seen = append(seen, at)
			g, x := &b.Columns[0], &b.Columns[1]
			if g.Null(i) != (at%3 == 0) || x.Null(i) != (at%3 == 0) {
				t.Fatalf("unit %d: missing or not", at)
			}
			if at%3 > 0 && (x.Float64[i] != float64(at) || g.Dict[g.Codes[i]] != domain[at%int64(len(domain))]) {
				t.Fatalf("unit %d: %g, %s", at, x.Float64[i], g.Dict[g.Codes[i]])
			}
		}
		for i := range b.Columns[1].Float64 {
			b.Columns[1].Float64[i] = -1
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(progress, []int64{blockUnits, 2 * blockUnits, units}) {
		t.Errorf("progress %v", progress)
	}
	if len(seen) != (blockUnits+6)/7+77 || !slices.IsSorted(seen) {
		t.Errorf("%d units were picked", len(seen))
	}
}

// A text is known by its bytes: neither its code, nor its dictionary's name, nor the dictionary's length says who it is.
func TestAUnitIsItsText(t *testing.T) {
	x := must(NewIndex(IndexSpec{Null: DropNulls}))
	for _, b := range []struct {
		id    uint64
		dict  []string
		codes []int32
	}{
		{0, []string{"a", "b"}, []int32{0, 1, 0}},
		{0, []string{"b", "a "}, []int32{0, 1, -1}}, // the same length, and no name
		{7, []string{"c", "a"}, []int32{1, 0, 1}},
		{7, []string{"a", "c"}, []int32{0, 1, 0}}, // not the dictionary of that name
		{8, []string{"a", "a", "A"}, []int32{0, 1, 2}},
	} {
		if err := x.Add(table.Values{Codes: b.codes, Dict: b.dict, DictID: b.id}, 3); err != nil {
			t.Fatal(err)
		}
	}
	got := make([]int32, 15)
	if err := errors.Join(x.Finish(), x.Numbers(0, got)); err != nil {
		t.Fatal(err)
	}
	if want := []int32{0, 1, 0, 1, 2, -1, 0, 3, 0, 0, 3, 0, 0, 0, 4}; !slices.Equal(got, want) || x.Units() != 5 || x.NullRows() != 1 {
		t.Errorf("units %v instead of %v", got, want)
	}
}

// A panic of a goroutine is one of the caller's, who says nothing of it (P20).
func TestAPanicComesBack(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("the panic was lost")
		}
	}()
	parallel(8, func(i int) {
		if i == 5 {
			panic("out of range")
		}
	})
}
