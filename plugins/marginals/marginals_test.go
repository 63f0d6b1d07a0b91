package marginals

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/linear/lineartest"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

// column is a category column of n values.
func column(name string, n int, missing sdk.Missing) sdk.Column {
	c := sdk.Column{Name: name, Type: sdk.Category, Missing: missing}
	for i := range n {
		c.Domain = append(c.Domain, fmt.Sprint(name, i))
	}
	return c
}

// towns are the values of a hierarchy: two countries, of two and one states, with uneven
// numbers of towns; not in the order of the tree.
func towns() sdk.Column {
	return sdk.Column{Name: "town", Type: sdk.Category, Missing: sdk.MissingRefuse, Domain: []string{"a1x", "b1x", "a2x", "a1y", "b1y", "a1z", "b1z"}}
}

const nested = `"hierarchies":[{"column":"town","levels":[{"name":"country","prefix":1},{"name":"state","prefix":2}]}]`

// Every pair of units is tried: the declared sensitivity holds, under both relations, and
// where every attribute is flat it is attained exactly.
func TestAllUnits(t *testing.T) {
	a, b, c := column("a", 2, sdk.MissingRefuse), column("b", 3, sdk.MissingRefuse), column("c", 4, sdk.MissingRefuse)
	var cases []lineartest.Case
	for _, population := range []int64{0, 7} {
		for params, least := range map[string]float64{
			`{"columns":["a","b","c"],"ways":3}`:                                            0.999,
			`{"columns":["a","b","c"],"ways":2,"objective":"every-cell"}`:                   0.999,
			`{"columns":["a","b","c"],"ways":1,"objective":"every-marginal"}`:               0.999,
			`{"tables":[["a","b"],["c"]],"weights":{"b,a":4}}`:                              0.999,
			`{"tables":[["b","c"]]}`:                                                        0.999,
			`{"columns":["town","a"],` + nested + `}`:                                       0.7,
			`{"tables":[["country","a"],["town"]],"objective":"every-cell",` + nested + `}`: 0.7,
		} {
			req := lineartest.Request(params, population, a, b, c, towns())
			name := fmt.Sprint(params, " population ", population)
			cases = append(cases, lineartest.Case{Name: name, Request: req, Least: least})
			if strings.Contains(params, "town") {
				continue
			}
			capped := lineartest.With(req, 1, 2)
			cases = append(cases, lineartest.Case{Name: name + " cap", Request: capped, Least: least, Twins: map[string]sdk.PlanRequest{"no cap": req}})
			dropped := req
			dropped.Public.Columns = []sdk.Column{column("a", 2, sdk.MissingDrop), b, c, towns()}
			cases = append(cases, lineartest.Case{Name: name + " dropped", Request: dropped, Least: least})
			weighted := req
			weighted.Public.Design.EqualWeights, weighted.Public.Design.MinWeight, weighted.Public.Design.MaxWeight = false, 2, 5
			if population > 0 {
				cases = append(cases, lineartest.Case{Name: name + " weighted", Request: weighted, Least: 0.6})
			}
		}
	}
	lineartest.Check(t, Mechanism{}, cases...)
}

// records are random rows.
func records(n int, columns ...sdk.Column) sdktest.Table {
	rng := rand.New(rand.NewPCG(1, 2))
	t := sdktest.Table{Rows: n, Columns: map[string]sdk.Values{}}
	for _, c := range columns {
		codes := make([]int32, n)
		for i := range codes {
			codes[i] = int32(min(rng.IntN(len(c.Domain)), rng.IntN(len(c.Domain))))
		}
		t.Columns[c.Name] = sdk.Values{Codes: codes}
	}
	return t
}

// cell is a line of a result.
type cell struct {
	table, values string
	estimate, sd  float64
	whole         int64
}

func cells(out sdktest.Outcome) []cell {
	var all []cell
	for _, c := range out.Result.Columns {
		for i := range len(c.Texts) + len(c.Float64) + len(c.Int64) {
			if len(all) <= i {
				all = append(all, cell{})
			}
			switch {
			case c.Name == "table":
				all[i].table = c.Texts[i]
			case c.Name == "estimate":
				all[i].estimate = c.Float64[i]
			case c.Name == "noise_sd":
				all[i].sd = c.Float64[i]
			case c.Name == "whole":
				all[i].whole = c.Int64[i]
			case c.Texts[i] != "":
				all[i].values = strings.TrimPrefix(all[i].values+","+c.Texts[i], ",")
			}
		}
	}
	return all
}

// truth counts the rows with these values.
func truth(f *family, table sdktest.Table, c cell) float64 {
	if c.table == totalName {
		return float64(table.Rows)
	}
	names, values := strings.Split(c.table, ","), strings.Split(c.values, ",")
	n := 0.0
	for r := range table.Rows {
		in := true
		for i, name := range names {
			d := f.dimensions[f.find(f.finest(name))]
			label := d.column.Domain[table.Columns[d.column.Name].Codes[r]]
			at := slices.IndexFunc(d.levels, func(l level) bool { return l.name == name })
			if at < len(d.levels)-1 { // of the towns: a prefix
				label = label[:at+1]
			}
			in = in && label == values[i]
		}
		if in {
			n++
		}
	}
	return n
}

// Without noise the tables are the true ones, at every level. Whole ones are as near as noise of the stated size lets them be.
func TestKnownTables(t *testing.T) {
	columns := []sdk.Column{column("a", 2, sdk.MissingRefuse), column("b", 3, sdk.MissingRefuse), column("c", 5, sdk.MissingRefuse), towns(), column("one", 1, sdk.MissingRefuse)}
	for _, population := range []int64{0, 500} {
		for _, params := range []string{
			`{"columns":["a","b","c"],"ways":3,"finish":"whole"}`,
			`{"columns":["c","town","a","one"],"ways":3,` + nested + `}`,
			`{"columns":["a"],"tables":[["town","b"],["c","country"],[]],` + nested + `}`,
		} {
			req := lineartest.Request(params, population, columns...)
			table := records(500, columns...)
			out, err := sdktest.Run(Mechanism{}, req, table, nil)
			if err != nil {
				t.Fatal(params, err)
			}
			f, err := parse(req.Params, req.Public)
			if err != nil {
				t.Fatal(err)
			}
			all := cells(out)
			if len(all) < 20 {
				t.Fatalf("%s: %d cells", params, len(all))
			}
			for _, c := range all {
				want := truth(f, table, c)
				if math.Abs(c.estimate-want) > 1e-6 || strings.Contains(params, "whole") && math.Abs(float64(c.whole)-want) > 1+3*c.sd {
					t.Errorf("%s: %s %s: %v and %d, want %v", params, c.table, c.values, c.estimate, c.whole, want)
				}
			}
		}
	}
}

// rowsAt hands out a table.
func target(rho float64) privacy.Point {
	// The ε of ρ-zCDP at δ = 1e-6 is not needed exactly: variances are compared at the
	// cost of the plan.
	return privacy.Point{Epsilon: rho + 2*math.Sqrt(rho*math.Log(1e6)), Delta: 1e-6}
}

// The planned noise of every cell is the optimum at what the plan costs: (Δ/σ)²/2 in ρ.
func TestVariancesAreTheOptimum(t *testing.T) {
	var twenty []sdk.Column
	names := ""
	for i := range 20 {
		twenty = append(twenty, column(fmt.Sprint("c", i), 10, sdk.MissingRefuse))
		names += fmt.Sprintf(`,"c%d"`, i)
	}
	names = names[1:]
	for objective, want := range map[string]float64{"least-largest": 768.94139745, "every-cell": 724.51619963} {
		req := lineartest.Request(`{"columns":[`+names+`],"ways":3,"objective":"`+objective+`"}`, 0, twenty...)
		req.Target = target(0.5)
		l, err := layoutOf(req)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := Mechanism{}.Plan(req)
		if err != nil {
			t.Fatal(err)
		}
		e := plan.Event.(privacy.DiscreteGaussian)
		rho := e.Sensitivity.AddRemove * e.Sensitivity.AddRemove / 2 / e.Sigma / e.Sigma
		sum, cells, most := 0.0, 0.0, 0.0
		for i, sds := range l.deviations(linear.Noises(plan)[0]) {
			n := float64(l.Cells(l.Tables[i]))
			sum, cells, most = sum+n*sds[0]*sds[0], cells+n, math.Max(most, sds[0]*sds[0])
		}
		got := most
		if objective == "every-cell" {
			got = sum / cells
		}
		if got *= rho / 0.5; math.Abs(got/want-1) > 1e-6 {
			t.Errorf("%s: %.8f, want %.8f (%.2g)", objective, got, want, got/want-1)
		}
		if d := math.Abs(plan.Errors[0].NoiseSD - math.Sqrt(most)); objective == "least-largest" && d > 1e-9 {
			t.Errorf("the plan states %v", plan.Errors)
		}
	}
}

func TestRefusals(t *testing.T) {
	number := sdk.Column{Name: "x", Type: sdk.Number, Lower: 0, Upper: 1}
	many := column("many", 3000, sdk.MissingRefuse)
	other := column("other", 3000, sdk.MissingRefuse)
	a, b := column("a", 2, sdk.MissingRefuse), column("b", 3, sdk.MissingRefuse)
	for params, want := range map[string]string{
		`{}`:                           "name the columns",
		`{"columns":"z"}`:              "not declared",
		`{"columns":"x"}`:              "derive bins",
		`{"columns":["many","other"]}`: "more than 4194304 cells",
		`{"tables":[["town","state"]],` + nested + `}`:                                                                                  "two levels of town",
		`{"columns":"a",` + nested + `}`:                                                                                                "column of no table",
		`{"columns":"a","weights":{"b":2}}`:                                                                                             "no table is named",
		`{"columns":"a","weights":{"a":0}}`:                                                                                             "above 0",
		`{"columns":"town","hierarchies":[{"column":"town","levels":[{"name":"s"}]}]}`:                                                  "prefix or map",
		`{"columns":"town","hierarchies":[{"column":"town","levels":[{"name":"s","prefix":9}]}]}`:                                       "has no s",
		`{"columns":"town","hierarchies":[{"column":"town","levels":[{"name":"s","map":{"a1x":"p"}}]}]}`:                                "has no s",
		`{"columns":"town","hierarchies":[{"column":"town","levels":[{"name":"s","prefix":2},{"name":"c","prefix":1}]}]}`:               "one parent",
		`{"columns":["town","a"],"hierarchies":[{"column":"town","levels":[{"name":"a","prefix":1}]}]}`:                                 "two columns or levels",
		`{"columns":["many","a","b"],"finish":"whole","ways":1,"hierarchies":[{"column":"many","levels":[{"name":"all","prefix":1}]}]}`: "",
		`{"columns":["many","other"],"ways":1,"finish":"whole"}`:                                                                        "finish: whole makes one table",
	} {
		_, err := Mechanism{}.Plan(lineartest.Request(params, 0, number, many, other, a, b, towns()))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", params, err, want)
		}
	}
	pure := lineartest.Request(`{"columns":"a"}`, 0, a)
	pure.Target.Delta = 0
	if _, err := (Mechanism{}).Plan(pure); err == nil || !strings.Contains(err.Error(), "needs a rho") {
		t.Errorf("a pure epsilon: %v", err)
	}
	// All units are in the one cell of a column of one value: nothing is secret.
	one := lineartest.Request(`{"columns":"one"}`, 7, column("one", 1, sdk.MissingRefuse))
	if _, err := (Mechanism{}).Plan(one); err == nil || !strings.Contains(err.Error(), "not public") {
		t.Errorf("a public table: %v", err)
	}
}

// Rows that are counted in few numbers move to the cells before these overflow.
func TestCounterSettles(t *testing.T) {
	columns, _, req := twenty(2)
	l, err := layoutOf(req)
	if err != nil {
		t.Fatal(err)
	}
	c, table := newCounter(l), records(100, columns...)
	block := linear.Block{Rows: table.Rows}
	for _, x := range columns {
		block.Columns = append(block.Columns, table.Columns[x.Name])
	}
	c.add(block)
	counted := &c.tables[0]
	counted.few[0] += math.MaxUint32 - 150
	counted.rows += math.MaxUint32 - 150
	c.add(block)
	counted.settle()
	total := int64(0)
	for _, n := range counted.cells {
		total += n
	}
	if total != math.MaxUint32+50 || counted.rows != 0 {
		t.Errorf("%d rows are counted, %d are waiting", total, counted.rows)
	}
}
