package main

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/noise/insecurenoise"
	"github.com/dprelease/dprelease/lab/measure"
	"github.com/dprelease/dprelease/plugins/mean"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

// one is a sampled person of a class. A person who does not answer has no value.
type one struct {
	weight, value float64
	answers       bool
}

// class returns the weighted total of a class, its factor, and the weight of those who answer. The factor is total over
// that weight; a total of 0 stands for the weight of all who were sampled: a nonresponse class.
func class(people []one, total, low, high float64) (sum, f, answered float64) {
	sampled := 0.0
	for _, p := range people {
		sampled += p.weight
		if p.answers {
			answered += p.weight
			sum += p.weight * p.value
		}
	}
	if total == 0 {
		total = sampled
	}
	f = factor(total, answered, low, high)
	return f * sum, f, answered
}

// worst returns the largest change of the total, and of all weights together, over all classes of up to four persons with
// weights of 1 and 2 and values of 0 and 1, when one more person comes, or one who answered no longer does.
func worst(total, low, high float64) (sum, weights float64) {
	var kinds []one
	for _, w := range []float64{1, 2} {
		kinds = append(kinds, one{w, 0, true}, one{w, 1, true}, one{w, 0, false})
	}
	var grow func(people []one)
	grow = func(people []one) {
		for _, k := range kinds {
			with := append(people[:len(people):len(people)], k)
			there, f, answered := class(with, total, low, high)
			for _, without := range [][]one{people, append(people[:len(people):len(people)], one{k.weight, 0, false})} {
				here, g, others := class(without, total, low, high)
				sum = max(sum, math.Abs(there-here))
				weights = max(weights, math.Abs(f-g)*others+f*(answered-others))
			}
			if len(with) <= 4 {
				grow(with)
			}
		}
	}
	grow(nil)
	return sum, weights
}

// One respondent moves a total through all weights by at most the largest factor times the largest weight, and all weights
// by twice as much, also where only one of the two factors is held. The twin holds no factor, and is found out; so is who
// charges a table of several groups as one total.
func TestRespondentMovesOneWeight(t *testing.T) {
	const high, heaviest = 3, 2
	most, all := 0.0, 0.0
	for _, total := range []float64{0, 0.5, 1, 2, 3, 4, 5, 6, 7, 9, 12, 20, 40} {
		for _, low := range []float64{0, 0.5, 1, 2} {
			sum, weights := worst(total, low, high)
			most, all = max(most, sum), max(all, weights)
			if sum > high*heaviest+1e-9 || weights > 2*high*heaviest+1e-9 {
				t.Errorf("total %v, factors in [%v, 3]: one respondent moves the total by %v and the weights by %v", total, low, sum, weights)
			}
		}
	}
	if most < high*heaviest-1e-9 {
		t.Errorf("the bound of 6 is not reached: %v", most)
	}
	if all <= high*heaviest {
		t.Errorf("all weights move by %v only: twice is not needed", all)
	}
	if sum, _ := worst(40, 0, unheld); sum <= high*heaviest {
		t.Errorf("without a bound on factors the total moves by %v only", sum)
	}
}

// In raked weights one respondent moves as many mean weights as a margin has categories.
func TestRakingSpreads(t *testing.T) {
	for _, k := range []int{2, 5, 9} {
		if got := moved(k, 1, 5000, 0, unheld); math.Abs(got-float64(k)) > 0.01*float64(k) {
			t.Errorf("%d categories: one respondent moves %.3f mean weights", k, got)
		}
		if got := moved(k, 1, 5000, 0.5, 2); got < float64(k)/2 {
			t.Errorf("%d categories and weights held to [½, 2]: one respondent moves %.3f mean weights", k, got)
		}
	}
}

// The study draws the noise of `mean` from a fixed seed. The mechanism itself errs as much.
func TestMeansErrAsTheMechanism(t *testing.T) {
	p, err := readPersons("../../examples/data/eusilc.csv")
	if err != nil {
		t.Fatal(err)
	}
	s, income, size := p.asked(rand.New(rand.NewPCG(29, 0))), measure.Number("income", 0, top), measure.Category("size", "1", "2", "3", "4", "5")
	table := sdktest.Table{Columns: map[string]sdk.Values{}}
	var incomes []float64
	var codes []int32
	for c, n := range s.number { // a row for each respondent, with the mean of the cell: only sums count
		for range int(n) {
			incomes, codes = append(incomes, s.income[c]/n), append(codes, int32(bySize.of(c)))
		}
	}
	table.Rows = len(incomes)
	table.Columns["income"], table.Columns["size"] = sdk.Values{Float64: incomes}, sdk.Values{Codes: codes}
	const epsilon, runs = 1, 400
	req := sdk.PlanRequest{
		Params: []byte(`{"column":"income","by":"size"}`), Target: privacy.Point{Epsilon: epsilon},
		Public: measure.Full(privacy.AddRemove, 0, income, size),
	}
	plan, err := mean.Mechanism{}.Plan(req)
	if err != nil {
		t.Fatal(err)
	}
	exact, _ := bySize.means(s, math.Inf(1), rand.New(rand.NewPCG(0, 0)))
	host := measure.Noise{Source: insecurenoise.NewSeeded(31)}
	rng, own, theirs := rand.New(rand.NewPCG(31, 0)), 0.0, 0.0
	for range runs {
		out, err := sdktest.InProcess(mean.Mechanism{}).Release(context.Background(), req, plan, table, host)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range out.Result.Columns {
			for i := range exact {
				if c.Name == "estimate" {
					theirs += math.Pow(c.Float64[i]-exact[i], 2)
				}
			}
		}
		means, _ := bySize.means(s, epsilon, rng)
		for i := range exact {
			own += math.Pow(means[i]-exact[i], 2)
		}
	}
	if ratio := math.Sqrt(own / theirs); ratio < 0.9 || ratio > 1.1 {
		t.Errorf("the study's noise is %.3f times that of the mechanism", ratio)
	}
}

// The page holds what the program prints.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../studies/calibration.md")
	if err != nil {
		t.Fatal(err)
	}
	p, err := readPersons("../../examples/data/eusilc.csv")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), beginErrors+"\n"+p.table(1000)) || !strings.Contains(string(page), beginRaking+"\n"+rakingTable()) {
		t.Error("the tables of calibration.md are not what is measured now: make calibration")
	}
}
