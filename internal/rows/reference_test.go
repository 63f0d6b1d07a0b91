package rows

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/rows/formula"
	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// value is a value of one row, for the reference. ok is false where it is missing.
type value struct {
	ok   bool
	x    float64
	text string
	n    int64 // of a bool, a date or a timestamp
}

// reference evaluates a formula for one row, as plainly as can be.
func reference(n *formula.Node, row map[string]value) value {
	var args []value
	for _, a := range n.Args {
		args = append(args, reference(a, row))
	}
	truth := func(b bool) value {
		if b {
			return value{ok: true, n: 1}
		}
		return value{ok: true}
	}
	same := func(a, b value) bool { return a.x == b.x && a.text == b.text && a.n == b.n }
	switch n.Op {
	case formula.Read:
		return row[n.Column]
	case formula.Literal:
		return value{true, n.Number, n.Text, n.Whole}
	case formula.Null:
		return value{}
	case formula.And, formula.Or, formula.In:
		if n.Op == formula.In {
			for i, a := range args[1:] {
				if a.ok = a.ok && args[0].ok; a.ok {
					a = truth(same(a, args[0]))
				}
				args[i+1] = a
			}
			args = args[1:]
		}
		decides := int64(1)
		if n.Op == formula.And {
			decides = 0
		}
		out := value{ok: true, n: 1 - decides}
		for _, a := range args {
			if a.ok && a.n == decides {
				return value{ok: true, n: decides}
			}
			out.ok = out.ok && a.ok
		}
		return out
	case formula.Missing:
		return truth(!args[0].ok)
	case formula.If:
		switch {
		case !args[0].ok:
			return value{}
		case args[0].n == 1:
			return args[1]
		}
		return args[2]
	}
	for _, a := range args {
		if !a.ok {
			return value{}
		}
	}
	number := func(x float64) value { return value{ok: !math.IsNaN(x) && !math.IsInf(x, 0), x: x} }
	a := args[0]
	at := time.Unix(a.n*86400, 0).UTC()
	if n.Args[0].Type == formula.Timestamp {
		at = time.UnixMicro(a.n).UTC()
	}
	order := func(a, b value) int {
		switch {
		case a.x < b.x || a.text < b.text || a.n < b.n:
			return -1
		case same(a, b):
			return 0
		}
		return 1
	}
	midnight := func(t time.Time) int64 {
		return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC).Unix() / 86400
	}
	switch n.Op {
	case formula.Not:
		return truth(a.n == 0)
	case formula.Equal:
		return truth(order(a, args[1]) == 0)
	case formula.Less:
		return truth(order(a, args[1]) < 0)
	case formula.LessEqual:
		return truth(order(a, args[1]) <= 0)
	case formula.Add:
		return number(a.x + args[1].x)
	case formula.Subtract:
		return number(a.x - args[1].x)
	case formula.Multiply:
		return number(a.x * args[1].x)
	case formula.Divide:
		return number(a.x / args[1].x)
	case formula.Modulo:
		return number(math.Mod(a.x, args[1].x))
	case formula.Negate:
		return number(-a.x)
	case formula.Min, formula.Max:
		for _, b := range args[1:] {
			if (order(b, a) < 0) == (n.Op == formula.Min) {
				a = b
			}
		}
		return a
	case formula.Abs:
		return number(math.Abs(a.x))
	case formula.Floor:
		return number(math.Floor(a.x))
	case formula.Ceil:
		return number(math.Ceil(a.x))
	case formula.Sqrt:
		return number(math.Sqrt(a.x))
	case formula.Round:
		whole := math.Trunc(a.x)
		if math.Abs(a.x-whole) >= 0.5 {
			whole += math.Copysign(1, a.x)
		}
		return number(whole)
	case formula.StartsWith:
		return truth(strings.HasPrefix(a.text, args[1].text))
	case formula.EndsWith:
		return truth(strings.HasSuffix(a.text, args[1].text))
	case formula.Contains:
		return truth(strings.Contains(a.text, args[1].text))
	case formula.Size:
		return number(float64(utf8.RuneCountInString(a.text)))
	case formula.ToNumber:
		if n.Args[0].Type == formula.Bool {
			return number(float64(a.n))
		}
		x, ok := formula.ParseNumber(a.text)
		return value{ok: ok, x: x}
	case formula.ToDate:
		if n.Args[0].Type == formula.Timestamp {
			return value{ok: true, n: int64(math.Floor(float64(at.Unix()) / 86400))}
		}
		d, ok := formula.ParseDate(a.text)
		return value{ok: ok, n: d}
	case formula.ToTimestamp:
		if n.Args[0].Type == formula.Date {
			return value{ok: true, n: at.UnixMicro()}
		}
		m, ok := formula.ParseTimestamp(a.text)
		return value{ok: ok, n: m}
	case formula.Year:
		return number(float64(at.Year()))
	case formula.Month:
		return number(float64(at.Month()))
	case formula.Day:
		return number(float64(at.Day()))
	case formula.Hour:
		return number(float64(at.Hour()))
	case formula.Weekday:
		return number(float64((at.Weekday()+6)%7 + 1))
	case formula.DaysBetween:
		to := time.Unix(args[1].n*86400, 0).UTC()
		if n.Args[1].Type == formula.Timestamp {
			to = time.UnixMicro(args[1].n).UTC()
		}
		return number(float64(midnight(to) - midnight(at)))
	}
	panic(n.Op)
}

// declared are the columns of the tests' tables.
var declared = []formula.Column{
	{Name: "x", Type: formula.Number}, {Name: "y", Type: formula.Number}, {Name: "i", Type: formula.Number},
	{Name: "c", Type: formula.Text, Domain: []string{"Bronx", "Queens", "12"}}, {Name: "e", Type: formula.Text, Domain: []string{"Queens", "x"}},
	{Name: "t", Type: formula.Text}, {Name: "u", Type: formula.Text},
	{Name: "p", Type: formula.Bool}, {Name: "q", Type: formula.Bool},
	{Name: "d", Type: formula.Date}, {Name: "g", Type: formula.Date}, {Name: "s", Type: formula.Timestamp}, {Name: "z", Type: formula.Timestamp},
}

// someTexts stand in the columns t and u.
var someTexts = []string{"Bronx", "Queens", "", "12", "-3.5", "1e400", "12,5", "2024-02-29", "2023-02-29", "2024-02-29T12:00:01", "äöü", "true", "Q"}

// example is a small table: its columns as a scan hands them over, and row by row.
type example struct {
	columns map[string]table.Values
	rows    []map[string]value
}

func (x *example) needs(p *Program) []table.Values {
	var out []table.Values
	for _, name := range p.Needs() {
		out = append(out, x.columns[name])
	}
	return out
}

// drawn makes a table with every kind of value that is hard to handle. holes is the
// share of missing values.
func drawn(r *rand.Rand, rows int, holes float64) *example {
	x := &example{map[string]table.Values{}, make([]map[string]value, rows)}
	for i := range x.rows {
		x.rows[i] = map[string]value{}
	}
	numbers := []float64{0, 1, -1, 2, 0.5, -2.5, 3, 1e308, -1e308, 5e-324, 12, math.Copysign(0, -1)}
	for _, c := range declared {
		var v table.Values
		var valid []byte
		if holes > 0 && r.IntN(3) > 0 {
			valid = make([]byte, (rows+7)/8)
		}
		there := func(i int) bool {
			if valid == nil {
				return true
			}
			if r.Float64() < holes {
				return false
			}
			valid[i>>3] |= 1 << (i & 7)
			return true
		}
		switch c.Name {
		case "x", "y":
			v = table.Values{Kind: table.Float, Float64: make([]float64, rows)}
			for i := range rows {
				n := numbers[r.IntN(len(numbers))]
				if r.IntN(4) == 0 {
					n = r.NormFloat64() * 100
				}
				if r.Float64() < holes {
					n = []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[r.IntN(3)]
				}
				if there(i) {
					v.Float64[i] = n
					x.rows[i][c.Name] = value{ok: !math.IsNaN(n) && !math.IsInf(n, 0), x: n}
				}
			}
		case "i":
			v = table.Values{Kind: table.Decimal, Scale: 1, Int64: make([]int64, rows)}
			for i := range rows {
				if there(i) {
					v.Int64[i] = int64(r.IntN(41) - 20)
					x.rows[i][c.Name] = value{ok: true, x: float64(v.Int64[i]) / 10}
				}
			}
		case "c", "e":
			v = table.Values{Kind: table.String, Codes: make([]int32, rows), Dict: c.Domain}
			valid = nil
			for i := range rows {
				v.Codes[i] = -1
				if r.Float64() >= holes {
					v.Codes[i] = int32(r.IntN(len(c.Domain)))
					x.rows[i][c.Name] = value{ok: true, text: c.Domain[v.Codes[i]]}
				}
			}
		case "t", "u":
			v = table.Values{Kind: table.String, Codes: make([]int32, rows), Dict: append(someTexts[:len(someTexts):len(someTexts)], "Q", "12"), DictID: uint64(r.IntN(1000) + 1)}
			for i := range rows {
				if there(i) {
					v.Codes[i] = int32(r.IntN(len(v.Dict)))
					x.rows[i][c.Name] = value{ok: true, text: v.Dict[v.Codes[i]]}
				}
			}
		case "p", "q":
			v = table.Values{Kind: table.Bool, Int64: make([]int64, rows)}
			for i := range rows {
				if there(i) {
					v.Int64[i] = int64(r.IntN(2))
					x.rows[i][c.Name] = value{ok: true, n: v.Int64[i]}
				}
			}
		case "d", "g":
			v = table.Values{Kind: table.Date, Int64: make([]int64, rows)}
			for i := range rows {
				if there(i) {
					v.Int64[i] = int64(r.IntN(300000) - 200000)
					if r.IntN(2) == 0 {
						v.Int64[i] = 19782 + int64(r.IntN(3))
					}
					x.rows[i][c.Name] = value{ok: true, n: v.Int64[i]}
				}
			}
		default:
			v = table.Values{Kind: table.Timestamp, Unit: table.Millisecond, Int64: make([]int64, rows)}
			for i := range rows {
				if there(i) {
					v.Int64[i] = int64(r.IntN(4e9)) - 2e9
					x.rows[i][c.Name] = value{ok: true, n: v.Int64[i] * 1000}
				}
			}
		}
		v.Valid = valid
		x.columns[c.Name] = v
	}
	return x
}

// random writes an expression of a type.
func random(r *rand.Rand, t formula.Type, depth int) string {
	of := func(t formula.Type) string { return random(r, t, depth-1) }
	any := func() string { return of(formula.Type(r.IntN(5) + 1)) }
	one := func(list ...string) string { return list[r.IntN(len(list))] }
	leaf := depth <= 0 || r.IntN(6) == 0
	if !leaf && r.IntN(6) == 0 {
		a, b := of(t), of(t)
		if r.IntN(4) == 0 {
			a = "null"
		} else if r.IntN(4) == 0 {
			b = "null"
		}
		return fmt.Sprintf("(%s ? %s : %s)", of(formula.Bool), a, b)
	}
	moment := func() string { return of([]formula.Type{formula.Date, formula.Timestamp}[r.IntN(2)]) }
	switch t {
	case formula.Number:
		if leaf {
			return one("x", "y", "i", "x", "0", "1", "-2.5", "3.0", "1e308")
		}
		switch r.IntN(8) {
		case 0:
			return fmt.Sprintf("%s(%s)", one("abs", "floor", "ceil", "round", "sqrt", "-"), of(t))
		case 1:
			return fmt.Sprintf("%s(%s, %s)", one("min", "max"), of(t), of(t))
		case 2:
			return fmt.Sprintf("%s(%s)", one("year", "month", "day", "weekday"), moment())
		case 3:
			return one("hour("+of(formula.Timestamp)+")", "days_between("+moment()+", "+moment()+")")
		case 4:
			return one("size("+of(formula.Text)+")", "number("+of(formula.Text)+")", "number("+of(formula.Bool)+")")
		}
		return fmt.Sprintf("(%s %s %s)", of(t), one("+", "-", "*", "/", "%"), of(t))
	case formula.Text:
		return one("c", "e", "t", "u", "t", "'12'", "'Queens'")
	case formula.Date:
		if leaf {
			return one("d", "g", "date('2024-02-29')", "date('1899-12-31')")
		}
		return one("date("+of(formula.Text)+")", "date("+of(formula.Timestamp)+")", "min("+of(t)+", "+of(t)+")", "max("+of(t)+", "+of(t)+", d)")
	case formula.Timestamp:
		if leaf {
			return one("s", "z", "timestamp('1970-01-05 12:00')")
		}
		return one("timestamp("+of(formula.Text)+")", "timestamp("+of(formula.Date)+")", "max("+of(t)+", "+of(t)+")")
	}
	if leaf {
		return one("p", "q", "p", "true", "false")
	}
	switch r.IntN(8) {
	case 0:
		return "!" + of(t)
	case 1, 2:
		return fmt.Sprintf("(%s %s %s)", of(t), one("&&", "||"), of(t))
	case 3:
		return "missing(" + any() + ")"
	case 4:
		return fmt.Sprintf("%s(%s, %s)", one("startsWith", "endsWith", "contains"), one("t", "u"), one("t", "u", "'Q'", "''", "'n'"))
	case 5:
		k := formula.Type(r.IntN(5) + 1)
		list := of(k) + ", " + of(k)
		if k == formula.Number && r.IntN(2) == 0 {
			list = "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, -1"
		}
		return fmt.Sprintf("(%s in [%s])", of(k), list)
	case 6:
		k := formula.Type(r.IntN(5) + 1)
		return fmt.Sprintf("(%s %s %s)", of(k), one("==", "!="), of(k))
	}
	k := []formula.Type{formula.Number, formula.Text, formula.Date, formula.Timestamp}[r.IntN(4)]
	return fmt.Sprintf("(%s %s %s)", of(k), one("<", "<=", ">", ">="), of(k))
}

// must checks a text.
func must(t testing.TB, text string, columns []formula.Column) *formula.Formula {
	t.Helper()
	f, problems := formula.Check(text, columns)
	if len(problems) > 0 {
		t.Fatalf("%s: %v", text, problems)
	}
	return f
}

// read is row i of a column of a result.
func read(v *table.Values, t formula.Type, i int) value {
	if v.Null(i) {
		if v.Codes != nil && v.Codes[i] != 0 || v.Int64 != nil && v.Int64[i] != 0 || v.Float64 != nil && v.Float64[i] != 0 {
			return value{ok: true, text: "a null's place does not hold zero"}
		}
		return value{}
	}
	switch {
	case t == formula.Number:
		return value{ok: true, x: v.Float64[i]}
	case t == formula.Text:
		return value{ok: true, text: v.Dict[v.Codes[i]]}
	case t == formula.Bool:
		return value{ok: true, n: int64(v.Codes[i])}
	}
	return value{ok: true, n: v.Int64[i]}
}

// equalTo says that two values are the same; -0 and 0 are.
func (v value) equalTo(w value) bool {
	return v.ok == w.ok && (!v.ok || v.x == w.x && v.text == w.text && v.n == w.n)
}

// Columns and conditions are, for every row, what the reference says.
func TestAgainstReference(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	seen, there, gone := map[formula.Op]int{}, 0, 0
	var walk func(n *formula.Node)
	walk = func(n *formula.Node) {
		seen[n.Op]++
		for _, a := range n.Args {
			walk(a)
		}
	}
	// What chance seldom writes.
	fixed := []string{"t < u", "t <= c", "e >= t", "'M' < t", "t <= 'M'", "(p ? t : c) == u", "(p ? c : (q ? e : 'x')) < t", "c in [e, 'Queens', t]", "min(x, y, i, 3)",
		"x in [1, 2, 3, 4, 5, 6, 7, 8, 9]", "(p in [q, true]) in [q, p]", "x + 2 * 3 > 12 / 4", "p ? null : t", "number('12') + x", "max(d, g, date(z))", "p == q", "x / 0 == 1 || p"}
	for try := range tier.Of(500, 1500) {
		text := random(r, formula.Type(try%5+1), 1+r.IntN(4))
		if try < 3*len(fixed) {
			text = fixed[try%len(fixed)]
		}
		f, problems := formula.Check(text, declared)
		if len(problems) > 0 { // constants, and texts that a domain never holds
			continue
		}
		walk(f.Root)
		spec := Spec{Columns: declared, Derived: []Derived{{Name: "out", Formula: f}, {Name: "again", Formula: must(t, "out", []formula.Column{{Name: "out", Type: f.Type}})}},
			Outputs: []string{"out", "again"}}
		conditions := []string{"missing(out)"}
		if f.Type == formula.Bool {
			conditions = append(conditions, "out", "!out")
		}
		for _, text := range conditions {
			c, problems := formula.Check(text, []formula.Column{{Name: "out", Type: f.Type}})
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			spec.Conditions = append(spec.Conditions, c)
		}
		p, err := NewProgram(spec)
		if err != nil {
			t.Fatal(err)
		}
		e := p.Evaluator()
		for range 2 {
			rows := []int{0, 1, 63, 64, 65, 100, 200, 200, 300, []int{step - 1, step, step + 1, 2*step + 77}[r.IntN(4)]}[r.IntN(10)]
			x := drawn(r, rows, []float64{0, 0.02, 0.4}[r.IntN(3)])
			got := e.Eval(x.needs(p), rows)
			for i, row := range x.rows {
				want := reference(f.Root, row)
				if want.ok {
					there++
				} else {
					gone++
				}
				for k := range got.Columns {
					if have := read(&got.Columns[k], f.Type, i); !have.equalTo(want) {
						t.Fatalf("%s, row %d of %d, %+v: got %+v, want %+v", text, i, rows, row, have, want)
					}
				}
				masks := []bool{!want.ok, want.ok && want.n == 1, want.ok && want.n == 0}
				for k, m := range got.Masks {
					if has := m[i>>3]>>(i&7)&1 == 1; has != masks[k] {
						t.Fatalf("%s, row %d: %s is %v", text, i, conditions[k], has)
					}
				}
			}
			for _, m := range got.Masks {
				if n := rows % 8; n > 0 && m[len(m)-1]>>n != 0 {
					t.Fatalf("%s: bits behind row %d", text, rows)
				}
			}
		}
	}
	for op := formula.Read; op <= formula.DaysBetween; op++ {
		if seen[op] < tier.Of(1, 3) {
			t.Errorf("operation %d was seen %d times", op, seen[op])
		}
	}
	if there < gone/10 || gone < there/10 {
		t.Errorf("%d values and %d missing ones", there, gone)
	}
}
