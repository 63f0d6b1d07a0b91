package planner

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat"

	"github.com/dprelease/dprelease/internal/data/file"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/privacy/rational"
	"github.com/dprelease/dprelease/samplers"
)

// model holds the public assumptions about the values of a column.
type model struct {
	samplers.Moments
	words string                       // for people
	draw  func(rng *rand.Rand) float64 // one value, clipped; nil where only moments are assumed
}

// momentDraws is the number of draws from which the moments of a clipped distribution are computed.
const momentDraws = 200_000

func newModel(c job.Column) (*model, error) {
	moments, words, inside := plan.Moments(c)
	a, m := c.Assume, &model{Moments: moments, words: words}
	mean, sd := m.Mean, m.SD
	var raw func(rng *rand.Rand) float64
	switch a.Distribution {
	case job.Normal:
		m.words = fmt.Sprintf("%s is Normal(%g, %g)", c.Name, mean, sd)
		raw = func(rng *rand.Rand) float64 { return mean + sd*rng.NormFloat64() }
	case job.Lognormal:
		m.words = fmt.Sprintf("%s is lognormal with mean %g and standard deviation %g", c.Name, mean, sd)
		spread := math.Log1p(sd * sd / (mean * mean)) // the variance of the logarithm
		mu, sigma := math.Log(mean)-spread/2, math.Sqrt(spread)
		raw = func(rng *rand.Rand) float64 { return math.Exp(mu + sigma*rng.NormFloat64()) }
	case job.PilotTable:
		values, err := readPilot(a.Pilot, a.Column)
		if err != nil {
			return nil, err
		}
		m.words = fmt.Sprintf("%s is spread as in the public pilot table's column %s (%d values)", c.Name, a.Column, len(values))
		raw = func(rng *rand.Rand) float64 { return values[rng.IntN(len(values))] }
	}
	m.words += inside
	if raw == nil {
		return m, nil
	}
	lower, upper := rational.Up(c.Lower)+0, rational.Down(c.Upper)+0 // +0: no −0
	m.words += fmt.Sprintf(", clipped to [%g, %g]", lower, upper)
	m.draw = func(rng *rand.Rand) float64 { return math.Max(lower, math.Min(upper, raw(rng))) }
	m.Mean, m.SD = stat.MeanStdDev(m.population(momentDraws, rand.New(rand.NewPCG(1, 1))), nil)
	m.KnownMean = true
	return m, nil
}

// population draws n values.
func (m *model) population(n int, rng *rand.Rand) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = m.draw(rng)
	}
	return x
}

// maxPilot is the largest pilot table, in bytes.
const maxPilot = 64 << 20

// readPilot reads one column of a public CSV file. Values that are not finite
// numbers are left out.
func readPilot(path, name string) ([]float64, error) {
	f, err := file.Bounded(path, maxPilot)
	if err != nil {
		return nil, errors.New("pilot: the file cannot be opened")
	}
	defer f.Close()
	r := csv.NewReader(f)
	header, err := r.Read()
	at := slices.Index(header, name)
	if err != nil || at < 0 {
		return nil, fmt.Errorf("column: the pilot table has no column %q", name)
	}
	var out []float64
	for {
		line, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, errors.New("pilot: the file is not valid CSV")
		}
		if x, err := strconv.ParseFloat(line[at], 64); err == nil && !math.IsNaN(x) && !math.IsInf(x, 0) {
			out = append(out, x)
		}
	}
	if len(out) < 2 {
		return nil, fmt.Errorf("column: the pilot table holds fewer than two numbers in %q", name)
	}
	return out, nil
}
