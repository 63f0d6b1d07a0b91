package median

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

// schoolColumn reads one numeric column of the example table; empty cells are left
// out.
func schoolColumn(tb testing.TB, name string) []float64 {
	tb.Helper()
	f, err := os.Open("../../examples/data/schools.csv")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		tb.Fatal(err)
	}
	at := slices.Index(rows[0], name)
	if at < 0 {
		tb.Fatalf("no column %s", name)
	}
	var out []float64
	for _, r := range rows[1:] {
		if x, err := strconv.ParseFloat(r[at], 64); err == nil {
			out = append(out, x)
		}
	}
	return out
}

// rootMeanSquare is the root mean square error of releases of the median.
func rootMeanSquare(tb testing.TB, src *noise.Source, params string, x []float64, lower, upper, epsilon float64, runs int) float64 {
	tb.Helper()
	req := request(params, privacy.ReplaceOne)
	req.Public.Columns = []sdk.Column{{Name: "x", Type: sdk.Number, Lower: lower, Upper: upper, Missing: sdk.MissingRefuse}}
	req.Target.Epsilon = epsilon
	truth := slices.Sorted(slices.Values(x))[(len(x)+1)/2-1]
	sum := 0.0
	for range runs {
		out, err := sdktest.Run(Mechanism{}, req, numbers(x), drawing{src: src})
		if err != nil {
			tb.Fatal(err)
		}
		d := column(out, "estimate")[0] - truth
		sum += d * d
	}
	return math.Sqrt(sum / float64(runs))
}

// BenchmarkError measures what docs/mechanisms/median.md says: the error of both
// methods on the schools' index (replace-one, δ = 1e-6).
func BenchmarkError(b *testing.B) {
	src, err := noise.NewSource()
	if err != nil {
		b.Fatal(err)
	}
	api := schoolColumn(b, "api00")
	for _, epsilon := range []float64{0.1, 0.3, 1, 3} {
		for name, params := range map[string]string{
			"smooth":      `{"column":"x","method":"smooth-laplace"}`,
			"published":   `{"column":"x","calibration":"published"}`,
			"exponential": `{"column":"x","method":"exponential","points":801}`,
		} {
			b.Run(fmt.Sprintf("eps=%g/%s", epsilon, name), func(b *testing.B) {
				e := 0.0
				for range b.N {
					e = rootMeanSquare(b, src, params, api, 200, 1000, epsilon, 400)
				}
				b.ReportMetric(e, "rmse")
			})
		}
	}
}
