package regression

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

// On the tables of the examples a release with a huge budget is least squares, in the
// columns' own units and with unscaled features.
func TestRealTables(t *testing.T) {
	for _, c := range []struct {
		table, params string
		columns       []sdk.Column
		names         []string
	}{
		{"schools", `{"target":"api00","features":["api99","meals_pct","school_type"]}`, []sdk.Column{
			{Name: "api99", Type: sdk.Number, Lower: 200, Upper: 1000}, {Name: "meals_pct", Type: sdk.Number, Lower: 0, Upper: 100},
			{Name: "school_type", Type: sdk.Category, Domain: []string{"E", "M", "H"}}, {Name: "api00", Type: sdk.Number, Lower: 200, Upper: 1000},
		}, []string{"(intercept)", "api99", "meals_pct", "school_type=M", "school_type=H"}},
		{"eusilc", `{"target":"eq_income","features":["age","sex","household_size"],"log":["eq_income"]}`, []sdk.Column{
			{Name: "age", Type: sdk.Number, Lower: 0, Upper: 100}, {Name: "sex", Type: sdk.Category, Domain: []string{"female", "male"}},
			{Name: "household_size", Type: sdk.Number, Lower: 1, Upper: 10}, {Name: "eq_income", Type: sdk.Number, Lower: 2000, Upper: 100000},
		}, []string{"(intercept)", "age", "sex=male", "household_size"}},
	} {
		tab := sdktest.Table{Columns: map[string]sdk.Values{}}
		rows, y := readExample(t, c.table, c.columns, &tab)
		w, se := leastSquares(t, rows, y)
		req := request(privacy.ReplaceOne, int64(tab.Rows), c.params)
		req.Public.Columns, req.Target.Epsilon = c.columns, 1e7
		got := run(t, req, tab, nil)
		for i, name := range c.names {
			near(t, name, got[name].value, w[i], 1e-5)
			near(t, name+" standard error", got[name].all, se[i], 1e-3)
		}
		if got["rows"].value != float64(tab.Rows) || got["rows"].noise != 0 {
			t.Errorf("the public number of rows is %+v", got["rows"])
		}
	}
}

// readExample reads columns, clipped to their bounds, and the design for least squares;
// the last column is the target, with its logarithm where it is an income.
func readExample(t *testing.T, name string, columns []sdk.Column, tab *sdktest.Table) (rows [][]float64, y []float64) {
	t.Helper()
	f, err := os.Open(fmt.Sprintf("../../examples/data/%s.csv", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	tab.Rows = len(lines) - 1
	rows, y = make([][]float64, tab.Rows), make([]float64, tab.Rows)
	for i := range rows {
		rows[i] = []float64{1}
	}
	for k, c := range columns {
		at := slices.Index(lines[0], c.Name)
		var v sdk.Values
		for i, line := range lines[1:] {
			if c.Type == sdk.Category {
				code := slices.Index(c.Domain, line[at])
				v.Codes = append(v.Codes, int32(code))
				one := make([]float64, len(c.Domain))
				one[code] = 1
				rows[i] = append(rows[i], one[1:]...)
				continue
			}
			x, err := strconv.ParseFloat(line[at], 64)
			if err != nil {
				t.Fatal(err)
			}
			x = math.Max(c.Lower, math.Min(c.Upper, x))
			v.Float64 = append(v.Float64, x)
			switch {
			case k < len(columns)-1:
				rows[i] = append(rows[i], x)
			case c.Name == "eq_income":
				y[i] = math.Log(x)
			default:
				y[i] = x
			}
		}
		tab.Columns[c.Name] = v
	}
	return rows, y
}
