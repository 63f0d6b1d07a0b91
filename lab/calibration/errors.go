package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/dprelease/dprelease/lab/measure"
	"github.com/dprelease/dprelease/plugins/sdk"
)

const (
	top     = 60_000 // the public bound of incomes
	regions = 9
	sizes   = 5 // persons in the household: 1, 2, 3, 4, and 5 or more
	cells   = regions * sizes
)

// answers is the chance that a person of a household of that size answers, and vienna multiplies it there.
var answers = [sizes]float64{0.06, 0.16, 0.18, 0.10, 0.06}

const vienna = 0.6

// persons holds the population: each person's income and cell, and the public number of persons of each cell.
type persons struct {
	income []float64
	cell   []int
	number [cells]float64
	chance [cells]float64
}

func readPersons(path string) (*persons, error) {
	income, size := measure.Number("eq_income", 0, top), measure.Number("household_size", 1, sizes)
	region := measure.Category("region", "Vienna", "Tyrol", "Upper Austria", "Lower Austria", "Salzburg", "Carinthia", "Burgenland", "Vorarlberg", "Styria")
	t, err := measure.ReadCSV(path, []sdk.Column{income, region, size})
	if err != nil {
		return nil, err
	}
	p := &persons{income: t.Columns["eq_income"].Float64}
	for i := range t.Rows {
		c := int(t.Columns["region"].Codes[i])*sizes + int(t.Columns["household_size"].Float64[i]) - 1
		p.cell = append(p.cell, c)
		p.number[c]++
	}
	for c := range p.chance {
		p.chance[c] = answers[c%sizes]
		if c < sizes {
			p.chance[c] *= vienna
		}
	}
	return p, nil
}

// sums are the number of respondents and the sum of their incomes, by cell.
type sums struct{ number, income [cells]float64 }

// asked draws who answers.
func (p *persons) asked(rng *rand.Rand) *sums {
	s := new(sums)
	for i, c := range p.cell {
		if rng.Float64() < p.chance[c] {
			s.number[c]++
			s.income[c] += p.income[i]
		}
	}
	return s
}

// grouping assigns each cell to a group.
type grouping struct {
	groups int
	of     func(cell int) int
}

var (
	whole  = grouping{1, func(int) int { return 0 }}
	bySize = grouping{sizes, func(c int) int { return c % sizes }}
	byCell = grouping{cells, func(c int) int { return c }}
)

func (g grouping) add(x *[cells]float64) []float64 {
	out := make([]float64, g.groups)
	for c, v := range x {
		out[g.of(c)] += v
	}
	return out
}

func laplace(rng *rand.Rand, scale float64) float64 {
	return scale * (rng.ExpFloat64() - rng.ExpFloat64())
}

// means releases the mean by group as the mechanism does where the number of rows is secret: from the noisy sums of
// income and of what incomes lack to the bound. A respondent moves the two by top in all. It also returns the noisy
// number of respondents. A group without a mean gets the middle of the bounds.
func (g grouping) means(s *sums, epsilon float64, rng *rand.Rand) (mean, number []float64) {
	income, count := g.add(&s.income), g.add(&s.number)
	for i := range income {
		a := income[i] + laplace(rng, top/epsilon)
		b := count[i]*top - income[i] + laplace(rng, top/epsilon)
		n := (a + b) / top
		m := a / n
		if n <= 0 {
			m = top / 2.
		}
		mean, number = append(mean, math.Min(math.Max(m, 0), top)), append(number, n)
	}
	return mean, number
}

// after calibrates after the noise: the public number of each group times its noisy mean, over the population.
func (p *persons) after(g grouping) estimator {
	return func(s *sums, epsilon float64, rng *rand.Rand) float64 {
		mean, _ := g.means(s, epsilon, rng)
		return average(mean, g.add(&p.number))
	}
}

// within calibrates in the weights: each respondent weighs the public number over the respondents of the group, held
// to [1, atMost]. A respondent moves the total by at most atMost·top through all weights.
func (p *persons) within(g grouping, atMost float64) estimator {
	return func(s *sums, epsilon float64, rng *rand.Rand) float64 {
		income, count, number := g.add(&s.income), g.add(&s.number), g.add(&p.number)
		total := laplace(rng, atMost*top/epsilon)
		for i := range income {
			total += factor(number[i], count[i], 1, atMost) * income[i]
		}
		return total / float64(len(p.income))
	}
}

// raked rakes the noisy numbers of the table of regions and sizes to the public numbers of both.
func (p *persons) raked(s *sums, epsilon float64, rng *rand.Rand) float64 {
	mean, number := byCell.means(s, epsilon, rng)
	table, rows := make([][]float64, regions), make([]float64, regions)
	for r := range table {
		for c := range sizes {
			table[r] = append(table[r], math.Max(number[r*sizes+c], 1))
			rows[r] += p.number[r*sizes+c]
		}
	}
	var share []float64
	for _, row := range rake(table, rows, bySize.add(&p.number), 20, 0, unheld) {
		share = append(share, row...)
	}
	return average(mean, share)
}

func average(values, shares []float64) float64 {
	sum, all := 0.0, 0.0
	for i, v := range values {
		sum += v * shares[i]
		all += shares[i]
	}
	return sum / all
}

// estimator estimates the mean income of the population with noise for ε.
type estimator func(s *sums, epsilon float64, rng *rand.Rand) float64

// way is a line of the table.
type way struct {
	name     string
	estimate estimator
}

func (p *persons) ways() []way {
	return []way{
		{"none", p.after(whole)},
		{"5 sizes, weights of at most 20", p.within(bySize, 20)},
		{"5 sizes, weights of at most 40", p.within(bySize, 40)},
		{"5 sizes, after the noise", p.after(bySize)},
		{"45 cells, weights of at most 40", p.within(byCell, 40)},
		{"45 cells, after the noise", p.after(byCell)},
		{"45 noisy cells, raked to 9 regions and 5 sizes", p.raked},
	}
}

// rmse returns the root mean square error over samples and noise. All ways see the same samples.
func (p *persons) rmse(w way, epsilon float64, runs int) float64 {
	truth, sum := 0.0, 0.0
	for _, x := range p.income {
		truth += x / float64(len(p.income))
	}
	for i := range runs {
		s := p.asked(rand.New(rand.NewPCG(29, uint64(i))))
		e := w.estimate(s, epsilon, rand.New(rand.NewPCG(30, uint64(i)))) - truth
		sum += e * e / float64(runs)
	}
	return math.Sqrt(sum)
}

func (p *persons) table(runs int) string {
	epsilons := []float64{0.3, 1, 3, math.Inf(1)}
	var b strings.Builder
	b.WriteString("| calibration | ε 0.3 | ε 1 | ε 3 | without noise |\n|---|---|---|---|---|\n")
	for _, w := range p.ways() {
		fmt.Fprintf(&b, "| %s |", w.name)
		for _, epsilon := range epsilons {
			fmt.Fprintf(&b, " %.0f |", p.rmse(w, epsilon, runs))
		}
		b.WriteString("\n")
	}
	return b.String()
}
