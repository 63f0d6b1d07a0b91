package marginals

import (
	"encoding/csv"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/linear/lineartest"
	"github.com/dprelease/dprelease/plugins/marginals/residual"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

// persons are the persons of the EU-SILC example by region, sex, age band and size of
// household.
func persons(t *testing.T) (sdktest.Table, []sdk.Column) {
	f, err := os.Open("../../examples/data/eusilc.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	head := lines[0]
	columns := []sdk.Column{{Name: "region"}, {Name: "sex"}, {Name: "age"}, {Name: "household_size"}}
	table := sdktest.Table{Rows: len(lines) - 1, Columns: map[string]sdk.Values{}}
	for i := range columns {
		c := &columns[i]
		c.Type, c.Missing = sdk.Category, sdk.MissingRefuse
		at := slices.Index(head, c.Name)
		var codes []int32
		for _, line := range lines[1:] {
			v := line[at]
			if c.Name == "age" {
				n, _ := strconv.Atoi(v)
				v = strconv.Itoa(min(5, max(0, n)/15))
			}
			code := slices.Index(c.Domain, v)
			if code < 0 {
				code, c.Domain = len(c.Domain), append(c.Domain, v)
			}
			codes = append(codes, int32(code))
		}
		table.Columns[c.Name] = sdk.Values{Codes: codes}
	}
	return table, columns
}

// With noise estimates are unbiased and as accurate as stated, and whole counts are as
// docs/mechanisms/marginals.md says: whole, not negative, the same in all tables, too large
// where nobody is, and as accurate as the estimates in large tables.
func TestWholeCounts(t *testing.T) {
	table, columns := persons(t)
	req := lineartest.Request(`{"columns":["region","sex","age","household_size"],"ways":3,"finish":"whole"}`, 0, columns...)
	f, err := statistic{}.Form(req)
	if err != nil {
		t.Fatal(err)
	}
	l, err := layoutOf(req)
	if err != nil {
		t.Fatal(err)
	}
	sums, err := f.Sum(rowsOf(table, columns), 1<<32)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := Mechanism{}.Plan(req)
	if err != nil {
		t.Fatal(err)
	}
	e := plan.Event.(privacy.DiscreteGaussian)
	const rho = 0.1
	sd := e.Sensitivity.AddRemove / math.Sqrt(2*rho)
	exact := cells(sdktest.Outcome{Result: sdk.Result{Columns: f.Finish(sums, []linear.Noise{{SD: sd}})}})
	rng := rand.New(rand.NewPCG(3, 4))
	const draws = 12
	kinds := map[string]*[5]float64{} // cells, and the sums of errors and of their squares
	for range draws {
		noisy := slices.Clone(sums[0])
		for i := range noisy {
			noisy[i] += int64(sd * rng.NormFloat64())
		}
		got := cells(sdktest.Outcome{Result: sdk.Result{Columns: l.result(noisy, linear.Noise{SD: sd})}})
		sumsOf := map[string]int64{}
		for i, c := range got {
			if c.whole < 0 {
				t.Fatal("a negative count")
			}
			sumsOf[c.table] += c.whole
			truth := math.Round(exact[i].estimate)
			kind := c.table
			if strings.Count(c.table, ",") == 2 {
				kind = "3-way, 0"
				for _, from := range []float64{1, 5, 20} {
					if truth >= from {
						kind = "3-way, from " + strconv.Itoa(int(from))
					}
				}
			}
			k := kinds[kind]
			if k == nil {
				k = &[5]float64{}
				kinds[kind] = k
			}
			a, b := (c.estimate-truth)/c.sd, (float64(c.whole)-truth)/c.sd
			k[0], k[1], k[2], k[3], k[4] = k[0]+1, k[1]+a, k[2]+a*a, k[3]+b, k[4]+b*b
		}
		for name, n := range sumsOf {
			if n != sumsOf[totalName] {
				t.Errorf("%s adds up to %d, not %d", name, n, sumsOf[totalName])
			}
		}
	}
	for kind, k := range kinds {
		n := k[0]
		t.Logf("%-22s %6.0f cells; estimate: bias %+.2f, rmse %.2f of noise_sd; whole: bias %+.2f, rmse %.2f", kind, n/draws, k[1]/n, math.Sqrt(k[2]/n), k[3]/n, math.Sqrt(k[4]/n))
		if !strings.Contains(kind, "3-way") {
			if n > 500 && (math.Sqrt(k[4]/n) > 1.1 || math.Abs(k[3]/n) > 0.2) {
				t.Errorf("%s: whole counts have bias %v and rmse %v", kind, k[3]/n, math.Sqrt(k[4]/n))
			}
			continue
		}
		if math.Abs(k[1]/n) > 5/math.Sqrt(n) || math.Abs(k[2]/n-1) > 0.15 {
			t.Errorf("%s: estimates have bias %v and mean square %v of what is stated", kind, k[1]/n, k[2]/n)
		}
		if bias := k[3] / n; kind == "3-way, 0" && (bias < 0.02 || math.Sqrt(k[4]/n) > 0.5) || kind == "3-way, from 20" && math.Abs(bias) > 0.1 {
			t.Errorf("%s: whole counts have a bias of %v of noise_sd", kind, bias)
		}
	}
}

// Where columns go together the fitted table is far nearer the truth than the estimates are, if noise is large. The twin goes on for
// all steps and learns the noise. Where there is hardly any noise the table is off by about one in a cell.
func TestFit(t *testing.T) {
	const n = 3000
	rng := rand.New(rand.NewPCG(5, 6))
	table := sdktest.Table{Rows: n, Columns: map[string]sdk.Values{}}
	columns, codes := []sdk.Column{}, make([][]int32, 6)
	for k := range codes {
		codes[k] = make([]int32, n)
		name := string(rune('a' + k))
		columns = append(columns, sdk.Column{Name: name, Type: sdk.Category, Domain: []string{"0", "1", "2", "3"}, Missing: sdk.MissingRefuse})
		table.Columns[name] = sdk.Values{Codes: codes[k]}
	}
	for i := range n {
		lean := rng.Float64()
		for k := range codes {
			codes[k][i] = int32(4 * (0.7*lean + 0.3*rng.Float64()))
		}
	}
	l, err := layoutOf(lineartest.Request(`{"columns":["a","b","c","d","e","f"],"finish":"whole"}`, 0, columns...))
	if err != nil {
		t.Fatal(err)
	}
	f, err := statistic{}.Form(lineartest.Request(`{"columns":["a","b","c","d","e","f"],"finish":"whole"}`, 0, columns...))
	if err != nil {
		t.Fatal(err)
	}
	sums, err := f.Sum(rowsOf(table, columns), 1<<32)
	if err != nil {
		t.Fatal(err)
	}
	exact, largest := l.estimates(l.parts(sums[0])), 0.0 // of the estimates at noise 1
	for _, sds := range l.deviations(linear.Noise{SD: 1}) {
		largest = math.Max(largest, slices.Max(sds))
	}
	for _, sd := range []float64{80, 20, 5, 0.02} {
		noisy, noise := slices.Clone(sums[0]), sd/largest
		for i := range noisy {
			noisy[i] += int64(noise * rng.NormFloat64())
		}
		parts := l.parts(noisy)
		off := func(joint []float64) float64 {
			sum, cells := 0.0, 0.0
			for i, e := range l.estimates(parts) {
				if joint != nil {
					e = residual.Fold(l.Workload, l.all(), l.Tables[i], joint)
				}
				for c, x := range e {
					sum, cells = sum+(x-exact[i][c])*(x-exact[i][c]), cells+1
				}
			}
			return math.Sqrt(sum / cells)
		}
		fitted := l.fit(parts, noise)
		raw, fit, twin := off(nil), off(fitted), off(l.fit(parts, noise/10))
		t.Logf("noise of %v: estimates are off by %.3g, the fitted table by %.3g, the twin by %.3g", sd, raw, fit, twin)
		if fit > math.Max(0.85*raw, 1.2) || sd == 80 && twin < 1.05*fit || slices.Min(fitted) < 0 {
			t.Errorf("noise of %v: estimates are off by %.3g, the fitted table by %.3g, the twin by %.3g", sd, raw, fit, twin)
		}
	}
}

func rowsOf(table sdktest.Table, columns []sdk.Column) sdk.Rows {
	var names []string
	for _, c := range columns {
		names = append(names, c.Name)
	}
	return &batches{table: table, names: names}
}

// The sum of any first numbers is within a half.
func TestRound(t *testing.T) {
	x := []float64{0.3, 0.3, 0.3, 0, 0.3, 7.5, 0.25, 1e9}
	sum, whole := 0.0, int64(0)
	for i, n := range round(x) {
		sum, whole = sum+x[i], whole+n
		if n < 0 || math.Abs(sum-float64(whole)) > 0.5 {
			t.Errorf("after %d numbers %d, want about %v", i+1, whole, sum)
		}
	}
}
