package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/dprelease/dprelease/internal/plan/planner"
	"github.com/dprelease/dprelease/lab/measure"
	"github.com/dprelease/dprelease/plugins/regression"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/plugins/sgd"
	"github.com/dprelease/dprelease/privacy"
)

// study is one question to one table.
type study struct {
	name, question, slope, target string
	features, logs                []string
	columns                       []sdk.Column
	table                         sdktest.Table
	names                         []string // of the coefficients
	design                        [][]float64
	explained                     []float64
}

// leastSquares returns the coefficients without privacy and their textbook standard
// errors.
func (s *study) leastSquares() (w, se []float64, err error) {
	p := len(s.names)
	products, right := mat.NewSymDense(p, nil), mat.NewVecDense(p, nil)
	for i, x := range s.design {
		v := mat.NewVecDense(p, x)
		products.SymRankOne(products, 1, v)
		right.AddScaledVec(right, s.explained[i], v)
	}
	var c mat.Cholesky
	if !c.Factorize(products) {
		return nil, nil, errors.New("the features are collinear")
	}
	var coefficients mat.VecDense
	if err := c.SolveVecTo(&coefficients, right); err != nil {
		return nil, nil, err
	}
	rss := 0.0
	for i, x := range s.design {
		d := s.explained[i] - mat.Dot(mat.NewVecDense(p, x), &coefficients)
		rss += d * d
	}
	var inverse mat.SymDense
	if err := c.InverseTo(&inverse); err != nil {
		return nil, nil, err
	}
	for j := range p {
		se = append(se, math.Sqrt(rss/float64(s.table.Rows-p)*inverse.At(j, j)))
	}
	return coefficients.RawVector().Data, se, nil
}

// contender is a mechanism with its parameters.
type contender struct {
	mechanism sdk.Mechanism
	more      map[string]any
}

func (s *study) contenders() []contender {
	return []contender{
		{regression.Mechanism{}, nil},
		{sgd.Mechanism{}, map[string]any{"model": "linear"}},
		{sgd.Mechanism{}, map[string]any{"model": "linear", "rate": 1, "steps": 400, "step_size": 1}},
	}
}

func (c contender) label() string {
	name := c.mechanism.Describe().Name
	if c.more["steps"] != nil {
		name += ", 400 plain steps"
	}
	return "`" + name + "`"
}

func (s *study) request(c contender, epsilon float64) (sdk.PlanRequest, error) {
	p := map[string]any{"target": s.target, "features": s.features}
	if s.logs != nil {
		p["log"] = s.logs
	}
	for k, v := range c.more {
		p[k] = v
	}
	raw, err := json.Marshal(p)
	return sdk.PlanRequest{Params: raw, Target: privacy.Point{Epsilon: epsilon, Delta: 1e-6},
		Public: measure.Full(privacy.ReplaceOne, int64(s.table.Rows), s.columns...)}, err
}

// compare writes a table: every mechanism at every epsilon.
func (s *study) compare(b *strings.Builder, runs, few int) error {
	w, se, err := s.leastSquares()
	if err != nil {
		return err
	}
	at := slices.Index(s.names, s.slope)
	fmt.Fprintf(b, "`%s`: %s, %d rows, δ = 1e-6, replace-one. Least squares gives `%s` %.4g with a textbook standard error of %.2g.\n\n",
		s.name, s.question, s.table.Rows, s.slope, w[at], se[at])
	fmt.Fprintf(b, "| ε | mechanism | `%s`, median | 10 %% to 90 %% | `noise_se` | largest error of a coefficient | reads of the table "+
		"| plan warns |\n|---:|:---|---:|---:|---:|---:|---:|:---|\n", s.slope)
	for _, epsilon := range []float64{0.1, 1, 20} {
		for _, c := range s.contenders() {
			n := runs
			if _, ok := c.mechanism.(sgd.Mechanism); ok && s.table.Rows > 100_000 {
				n = few
			}
			line, err := s.measure(c, epsilon, n, w, se, at)
			if err != nil {
				return err
			}
			b.WriteString(line)
		}
	}
	b.WriteString("\n")
	return nil
}

// measure releases the model several times. The largest error of a coefficient is in
// textbook standard errors, in the median release.
func (s *study) measure(c contender, epsilon float64, runs int, w, se []float64, at int) (string, error) {
	req, err := s.request(c, epsilon)
	if err != nil {
		return "", err
	}
	plan, err := c.mechanism.Plan(req)
	if err != nil {
		return "", err
	}
	var slopes, errors, stated []float64
	for seed := range runs {
		out, err := sdktest.InProcess(c.mechanism).Release(context.Background(), req, plan, s.table,
			&planner.Dice{Rand: rand.New(rand.NewPCG(uint64(seed), 7))})
		if err != nil {
			return "", err
		}
		largest := 0.0
		for i, name := range out.Result.Columns[1].Texts {
			j := slices.Index(s.names, name)
			if j < 0 {
				continue
			}
			v := out.Result.Columns[2].Float64[i]
			largest = math.Max(largest, math.Abs(v-w[j])/se[j])
			if j == at {
				slopes = append(slopes, v)
				if len(out.Result.Columns) > 3 {
					stated = append(stated, out.Result.Columns[3].Float64[i])
				}
			}
		}
		errors = append(errors, largest)
	}
	slices.Sort(slopes)
	slices.Sort(errors)
	slices.Sort(stated)
	noise, reads, warns := "", int64(1), "no"
	if len(stated) > 0 {
		noise = fmt.Sprintf("%.2g", stated[len(stated)/2])
	}
	if r, ok := plan.Event.(privacy.Repeat); ok {
		reads = r.N
	}
	for _, e := range plan.Errors {
		if strings.HasPrefix(e.Note, "warning: ") {
			warns = "yes"
		}
	}
	around := "" // of few releases it says nothing
	if runs >= 10 {
		around = fmt.Sprintf("%.4g to %.4g", slopes[runs/10], slopes[runs-1-runs/10])
	}
	return fmt.Sprintf("| %g | %s | %.4g | %s | %s | %.3g | %d | %s |\n", epsilon, c.label(), slopes[runs/2], around, noise,
		errors[runs/2], reads, warns), nil
}
