package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/lab/measure"
	"github.com/dprelease/dprelease/plugins/count"
	"github.com/dprelease/dprelease/plugins/mean"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/plugins/sum"
	"github.com/dprelease/dprelease/privacy"
)

func main() {
	path := flag.String("data", "examples/data/eusilc.csv", "the table")
	choice := flag.Bool("choice", false, "what a choice of keep in private is worth, in the place of the errors on the table")
	flag.Parse()
	if *choice {
		choices(os.Stdout)
		return
	}
	t, err := read(*path)
	if err == nil {
		err = t.print(os.Stdout, 200)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// survey holds the persons of the table.
type survey struct {
	persons sdktest.Table
	src     *noise.Source
}

// clipsNothing is a bound above all weights of the table.
const clipsNothing = 1e6

// top is the public bound of incomes.
const top = 100_000

// to is the population over the sample, which is public: 8,182,222 over 14,827.
const to = 552

var (
	income = measure.Number("eq_income", 0, top)
	region = measure.Category("region", "Tyrol", "Vienna", "Upper Austria", "Lower Austria", "Salzburg", "Carinthia", "Burgenland", "Vorarlberg", "Styria")
)

func read(path string) (*survey, error) {
	weight := measure.Number("design_weight", 0, clipsNothing)
	t, err := measure.ReadCSV(path, []sdk.Column{income, region, weight})
	if err != nil {
		return nil, err
	}
	src, err := noise.NewSource()
	return &survey{t, src}, err
}

// shrunk are the weights, clipped and moved towards to.
func shrunk(atMost, keep float64) func(float64) float64 {
	return func(w float64) float64 { return to + keep*(math.Min(math.Max(w, 1), atMost)-to) }
}

// release is a column of a release by region.
func (t *survey) release(m sdk.Mechanism, params string, epsilon, atMost, keep float64, quiet bool) ([]float64, error) {
	of := shrunk(atMost, keep)
	public := measure.Full(privacy.AddRemove, 0, income, region)
	public.Design.MinWeight, public.Design.MaxWeight, public.Design.EqualWeights = of(1), of(atMost), false
	req := sdk.PlanRequest{Params: []byte(params), Target: privacy.Point{Epsilon: epsilon}, Public: public}
	plan, err := m.Plan(req)
	if err != nil {
		return nil, err
	}
	rows := t.persons
	for _, w := range rows.Columns["design_weight"].Float64 {
		rows.Weights = append(rows.Weights, of(w))
	}
	var host sdk.Host = measure.Noise{Source: t.src}
	if quiet {
		host = sdktest.NoNoise{Rows: rows.Rows}
	}
	out, err := sdktest.InProcess(m).Release(context.Background(), req, plan, rows, host)
	if err != nil {
		return nil, err
	}
	all := out.Result.Columns
	return all[slices.IndexFunc(all, func(c sdk.ResultColumn) bool { return c.Name == "estimate" })].Float64, nil
}

// apart are totals over totals of weights, each with half of ε.
func (t *survey) apart(epsilon, atMost float64) ([]float64, error) {
	above, err := t.release(sum.Mechanism{}, `{"column":"eq_income","by":"region"}`, epsilon/2, atMost, 1, false)
	if err != nil {
		return nil, err
	}
	below, err := t.release(count.Mechanism{}, `{"by":"region"}`, epsilon/2, atMost, 1, false)
	if err != nil {
		return nil, err
	}
	for i := range above {
		if above[i] /= math.Max(below[i], 1); !(above[i] >= 0 && above[i] <= top) {
			above[i] = math.Min(math.Max(above[i], 0), top)
		}
	}
	return above, nil
}

func (t *survey) together(epsilon, atMost, keep float64, quiet bool) ([]float64, error) {
	return t.release(mean.Mechanism{}, `{"column":"eq_income","by":"region"}`, epsilon, atMost, keep, quiet)
}

// rmse is the root mean square error over regions and repetitions.
func rmse(truth []float64, times int, estimate func() ([]float64, error)) (float64, error) {
	total := 0.0
	for range times {
		got, err := estimate()
		if err != nil {
			return 0, err
		}
		for i, x := range got {
			if math.IsNaN(x) { // blank: a reader knows the bounds alone
				x = (income.Lower + income.Upper) / 2
			}
			total += (x - truth[i]) * (x - truth[i]) / float64(len(truth)*times)
		}
	}
	return math.Sqrt(total), nil
}

// quietly is an ε at which no noise is planned that would hide a sum.
const quietly = 1e6

func (t *survey) print(out io.Writer, times int) error {
	truth, err := t.together(quietly, clipsNothing, 1, true)
	if err != nil {
		return err
	}
	fmt.Fprint(out, "| bound | ε | totals apart | mean | keep 0.5 | keep 0.2 | keep 0 | bias of keep 0 | best ÷ totals apart | best ÷ mean |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, atMost := range []float64{1100, 2000, 5000} {
		for _, epsilon := range []float64{0.1, 1} {
			var cells []float64
			for _, way := range []func() ([]float64, error){
				func() ([]float64, error) { return t.apart(epsilon, atMost) },
				func() ([]float64, error) { return t.together(epsilon, atMost, 1, false) },
				func() ([]float64, error) { return t.together(epsilon, atMost, 0.5, false) },
				func() ([]float64, error) { return t.together(epsilon, atMost, 0.2, false) },
				func() ([]float64, error) { return t.together(epsilon, atMost, 0, false) },
			} {
				e, err := rmse(truth, times, way)
				if err != nil {
					return err
				}
				cells = append(cells, e)
			}
			bias, err := rmse(truth, 1, func() ([]float64, error) { return t.together(epsilon, atMost, 0, true) })
			if err != nil {
				return err
			}
			best := slices.Min(cells[2:])
			fmt.Fprintf(out, "| %.0f | %g | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | 1/%.1f | 1/%.1f |\n", atMost, epsilon, cells[0], cells[1], cells[2], cells[3], cells[4], bias, cells[0]/best, cells[1]/best)
		}
	}
	return nil
}
