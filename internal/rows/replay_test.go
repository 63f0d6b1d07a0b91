package rows

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/rows/formula"
	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// results are the rows of a result, each as a text: what a mechanism could see of it.
type results func(x *example) []string

// rowText writes one row of a column.
func rowText(v *table.Values, t formula.Type, i int) string {
	w := read(v, t, i)
	return fmt.Sprintf("%v %v %q %d; ", w.ok, w.x+0, w.text, w.n)
}

// resultsOf evaluates a program, in blocks of at most so many rows.
func resultsOf(p *Program, cells *Cells, atMost int) results {
	e := p.Evaluator()
	return func(x *example) []string {
		out := make([]string, len(x.rows))
		for from := 0; from < len(out); from += atMost {
			n := min(atMost, len(out)-from)
			part := x.pick(sequence(from, n))
			got := e.Eval(part.needs(p), n)
			for k, name := range p.spec.Outputs {
				c, _ := p.Column(name)
				for i := range n {
					out[from+i] += rowText(&got.Columns[k], c.Type, i)
				}
			}
			for _, m := range got.Masks {
				for i := range n {
					out[from+i] += fmt.Sprint(m[i>>3]>>(i&7)&1, " ")
				}
			}
			if cells != nil {
				of := make([]int32, n)
				cells.Code(of, [][]int32{part.columns["c"].Codes, part.columns["e"].Codes}, got.Masks[0])
				for i, c := range of {
					out[from+i] += fmt.Sprint(c)
				}
			}
		}
		return out
	}
}

func sequence(from, n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = from + i
	}
	return out
}

// pick is a table of some rows of x, in that order.
func (x *example) pick(rows []int) *example {
	out := &example{columns: map[string]table.Values{}}
	for _, i := range rows {
		out.rows = append(out.rows, x.rows[i])
	}
	for name, v := range x.columns {
		w := v
		w.Float64, w.Int64, w.Codes, w.Valid = nil, nil, nil, nil
		if v.Valid != nil {
			w.Valid = make([]byte, (len(rows)+7)/8)
		}
		for k, i := range rows {
			switch {
			case v.Float64 != nil:
				w.Float64 = append(w.Float64, v.Float64[i])
			case v.Int64 != nil:
				w.Int64 = append(w.Int64, v.Int64[i])
			default:
				w.Codes = append(w.Codes, v.Codes[i])
			}
			if v.Valid != nil && !v.Null(i) {
				w.Valid[k>>3] |= 1 << (k & 7)
			}
		}
		out.columns[name] = w
	}
	return out
}

// replay looks for a row of a result that depends on another row of the table and describes it, or returns "" where it
// sees none.
func replay(r *rand.Rand, run results, x *example, other *example) string {
	before := run(x)
	n := len(x.rows)
	// One row is changed into one of another table.
	at, all := r.IntN(n), sequence(0, n)
	both := x.join(other)
	all[at] = n + r.IntN(len(other.rows))
	after := run(both.pick(all))
	for i := range before {
		if i != at && before[i] != after[i] {
			return fmt.Sprintf("row %d changes with row %d: %s, then %s", i, at, before[i], after[i])
		}
	}
	// The rows come in another order.
	order := r.Perm(n)
	moved := run(x.pick(order))
	for k, i := range order {
		if moved[k] != before[i] {
			return fmt.Sprintf("row %d is another one at place %d: %s, then %s", i, k, before[i], moved[k])
		}
	}
	// A row stands alone.
	if alone := run(x.pick([]int{at})); alone[0] != before[at] {
		return fmt.Sprintf("row %d is another one alone: %s, then %s", at, before[at], alone[0])
	}
	return ""
}

// join puts the rows of y behind those of x.
func (x *example) join(y *example) *example {
	out := &example{columns: map[string]table.Values{}, rows: slices.Concat(x.rows, y.rows)}
	for name, v := range x.columns {
		w := y.columns[name]
		joined := v
		joined.Float64, joined.Int64 = slices.Concat(v.Float64, w.Float64), slices.Concat(v.Int64, w.Int64)
		joined.Codes = slices.Concat(v.Codes, w.Codes) // both have the same dictionary
		if v.Valid != nil || w.Valid != nil {
			joined.Valid = make([]byte, (len(out.rows)+7)/8)
			for i := range out.rows {
				null := i < len(x.rows) && v.Null(i) || i >= len(x.rows) && w.Null(i-len(x.rows))
				if !null {
					joined.Valid[i>>3] |= 1 << (i & 7)
				}
			}
		}
		out.columns[name] = joined
	}
	return out
}

// program is a Spec with lookups, bins and derived columns that read each other, and
// with random formulas.
func program(t *testing.T, r *rand.Rand) *Program {
	t.Helper()
	file := filepath.Join(t.TempDir(), "zones.csv")
	if err := os.WriteFile(file, []byte("zone,area,zip\nBronx,109.3,A\nQueens,,B\n12,5,\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, problems := ReadLookup(LookupSpec{Path: file, Key: "zone", On: formula.Column{Name: "t", Type: formula.Text}, Columns: []LookupColumn{
		{Column: formula.Column{Name: "area", Type: formula.Number}},
		{Column: formula.Column{Name: "letter", Type: formula.Text}, Heading: "zip"}}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	all := slices.Concat(declared, l.Columns())
	spec := Spec{Columns: declared, Lookups: []*Lookup{l}, Derived: []Derived{{Name: "band", Bins: &formula.Bins{Column: "x", Edges: []float64{-1, 0, 2.5, 100}, Above: true}}},
		Outputs: []string{"area", "letter", "band"}}
	all = append(all, formula.Column{Name: "band", Type: formula.Text, Domain: spec.Derived[0].Bins.Labels()})
	for k := range 5 {
		name, text := fmt.Sprint("derived", k), random(r, formula.Type(k+1), 3)
		f, problems := formula.Check(text, all)
		if len(problems) > 0 {
			continue
		}
		spec.Derived = append(spec.Derived, Derived{Name: name, Formula: f})
		spec.Outputs = append(spec.Outputs, name)
		all = append(all, formula.Column{Name: name, Type: f.Type})
	}
	for _, text := range []string{"x > 0 || letter == 'A' && band != '[-1, 0)'", "missing(area)"} {
		f, problems := formula.Check(text, all)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		spec.Conditions = append(spec.Conditions, f)
	}
	p, err := NewProgram(spec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Programs of all kinds compute each row by itself, and computations that do not are
// caught.
func TestEachRowByItself(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 17))
	cells := &Cells{Sizes: []int32{int32(len(declared[3].Domain)), int32(len(declared[4].Domain))}}
	cells.Other = cells.Sizes[0] * cells.Sizes[1]
	for range tier.Of(10, 60) {
		p := program(t, r)
		for _, rows := range []int{9, 70, step + 9} {
			x, y := drawn(r, rows, 0.2), drawn(r, 9, 0.2)
			if what := replay(r, resultsOf(p, cells, 5*step/4), x, y); what != "" {
				t.Fatal(what)
			}
		}
	}
	honest := func(x *example) []float64 {
		out := make([]float64, len(x.rows))
		for i := range out {
			out[i] = nan
			if v := x.columns["x"]; !v.Null(i) {
				out[i] = v.Float64[i]
			}
		}
		return out
	}
	text := func(values []float64) []string {
		var out []string
		for _, v := range values {
			out = append(out, fmt.Sprint(v))
		}
		return out
	}
	for name, run := range map[string]results{
		"carries the value of the row before over": func(x *example) []string {
			out := honest(x)
			for i, v := range out {
				if v != v && i > 0 {
					out[i] = out[i-1]
				}
			}
			return text(out)
		},
		"takes the mean of the block off": func(x *example) []string {
			out, sum := honest(x), 0.0
			for _, v := range out {
				if v-v == 0 {
					sum += math.Min(math.Max(v, -100), 100)
				}
			}
			for i := range out {
				out[i] -= sum / float64(len(out))
			}
			return text(out)
		},
		"ranks within the block": func(x *example) []string {
			out := honest(x)
			ranks := make([]float64, len(out))
			for i, v := range out {
				for _, w := range out {
					ranks[i] += float64(bit(w < v))
				}
			}
			return text(ranks)
		},
		"fails for a value": func(x *example) []string {
			out := text(honest(x))
			if slices.Contains(out, "+Inf") {
				return make([]string, len(out))
			}
			return out
		},
	} {
		caught := false
		for range 50 {
			caught = caught || replay(r, run, drawn(r, 30, 0.2), drawn(r, 9, 0.2)) != ""
		}
		if !caught {
			t.Errorf("a computation that %s is not caught", name)
		}
	}
}

// Arbitrary bits in every column, of every kind that a column may arrive in, fail
// nothing, and each row is the same alone.
func FuzzEval(f *testing.F) {
	f.Add("x / y > 1 ? year(d) : number(t)", []byte("some bytes that are numbers, and dates of long ago"), byte(0))
	f.Add("hour(s) + days_between(date(z), d) % i", []byte{0xff, 0x80, 0, 0, 0, 0, 0, 0, 0x7f, 0xf0, 0, 0, 0, 0, 0, 0}, byte(7))
	f.Add("(t < u) == p || c in [e, t] || missing(timestamp(d))", []byte(strings.Repeat("\x80\x00\x00\x00\x00\x00\x00\x00", 9)), byte(3))
	f.Add("max(s, z, timestamp(t)) >= timestamp(date(u)) && startsWith(t, u)", []byte("2024-02-29 23:59:59.999999999"), byte(200))
	f.Fuzz(func(t *testing.T, text string, data []byte, kinds byte) {
		formulaOf, problems := formula.Check(text, declared)
		if len(problems) > 0 {
			return
		}
		rows := min(len(data)/8, 200)
		if rows == 0 {
			return
		}
		x := &example{columns: map[string]table.Values{}, rows: make([]map[string]value, rows)}
		for k, c := range declared {
			v := table.Values{DictID: uint64(kinds) + 1}
			kind := (int(kinds) + k) % 5
			if c.Domain != nil { // categories arrive as codes
				kind = 2
			}
			for i := range rows {
				bits := binary.LittleEndian.Uint64(data[8*((i+k)%rows):])
				switch kind {
				case 0:
					v.Kind, v.Float64 = table.Float, append(v.Float64, math.Float64frombits(bits))
				case 1:
					v.Kind, v.Unit, v.Int64 = table.Timestamp, []table.Unit{table.Second, table.Millisecond, table.Microsecond, table.Nanosecond}[kinds%4], append(v.Int64, int64(bits))
				case 2:
					v.Kind, v.Dict = table.String, c.Domain
					if c.Domain == nil {
						v.Dict = append(someTexts[:len(someTexts):len(someTexts)], string(data[:8]), string(data))
					}
					v.Codes = append(v.Codes, int32(bits%uint64(len(v.Dict)+1))-1)
				case 3:
					v.Kind, v.Int64 = table.Date, append(v.Int64, int64(bits))
					if c.Type == formula.Bool {
						v.Kind = table.Bool
					}
				default:
					v.Kind, v.Scale, v.Unsigned, v.Int64 = table.Decimal, int(kinds%19), kinds%2 == 0, append(v.Int64, int64(bits))
				}
			}
			if kinds&(1<<(k%8)) != 0 {
				v.Valid = slices.Repeat([]byte{data[0]}, (rows+7)/8)
			}
			x.columns[c.Name] = v
		}
		spec := Spec{Columns: declared, Derived: []Derived{{Name: "out", Formula: formulaOf}}, Outputs: []string{"out"}}
		if formulaOf.Type == formula.Bool {
			spec.Conditions = []*formula.Formula{formulaOf}
		}
		p, err := NewProgram(spec)
		if err != nil {
			t.Fatal(err)
		}
		whole := resultsOf(p, nil, rows)(x)
		for i := range whole {
			if alone := resultsOf(p, nil, 1)(x.pick([]int{i})); alone[0] != whole[i] {
				t.Fatalf("%s: row %d is %s, and alone %s", text, i, whole[i], alone[0])
			}
		}
		if formulaOf.Type == formula.Number {
			for _, line := range whole {
				if strings.Contains(line, "NaN") || strings.Contains(line, "Inf") {
					t.Fatalf("%s: %s", text, line)
				}
			}
		}
	})
}
