package main

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
)

// model is the regression without privacy, on the same clipped columns.
type model struct {
	logistic bool
	names    []string
	x        *mat.Dense
	y        []float64
}

func newModel(p params, pub sdk.Public, t sdktest.Table) (model, error) {
	m := model{logistic: p.Model == "logistic", names: []string{"(intercept)"}}
	ones := slices.Repeat([]float64{1}, t.Rows)
	columns := [][]float64{ones}
	for _, name := range p.Features {
		c, _ := pub.Column(name)
		v := t.Columns[name]
		if c.Type == sdk.Number {
			m.names = append(m.names, name)
			columns = append(columns, logs(v.Float64, slices.Contains(p.Log, name)))
			continue
		}
		for code := 1; code < len(c.Domain); code++ {
			is := make([]float64, t.Rows)
			for i, k := range v.Codes {
				if int(k) == code {
					is[i] = 1
				}
			}
			m.names = append(m.names, name+"="+c.Domain[code])
			columns = append(columns, is)
		}
	}
	target := t.Columns[p.Target]
	if target.Float64 == nil {
		return m, fmt.Errorf("the study knows targets that are numbers")
	}
	m.y = logs(target.Float64, slices.Contains(p.Log, p.Target))
	m.x = mat.NewDense(t.Rows, len(columns), nil)
	for j, c := range columns {
		m.x.SetCol(j, c)
	}
	return m, nil
}

func logs(x []float64, take bool) []float64 {
	if !take {
		return x
	}
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = math.Log(v)
	}
	return out
}

// loss returns the mean log loss, or the root mean squared error.
func (m model) loss(w []float64) float64 {
	var z mat.VecDense
	z.MulVec(m.x, mat.NewVecDense(len(w), w))
	sum := 0.0
	for i, y := range m.y {
		p := z.AtVec(i)
		if m.logistic {
			// log(1 + e^z) − y·z
			sum += math.Max(p, 0) + math.Log1p(math.Exp(-math.Abs(p))) - y*p
		} else {
			sum += (p - y) * (p - y)
		}
	}
	if m.logistic {
		return sum / float64(len(m.y))
	}
	return math.Sqrt(sum / float64(len(m.y)))
}

// nullLoss returns the loss of the best model without features.
func (m model) nullLoss() float64 {
	mean := 0.0
	for _, y := range m.y {
		mean += y / float64(len(m.y))
	}
	w := make([]float64, len(m.names))
	w[0] = mean
	if m.logistic {
		w[0] = math.Log(mean / (1 - mean))
	}
	return m.loss(w)
}

// fit returns the coefficients of least squares, or of Newton's method for the log loss.
func (m model) fit() ([]float64, error) {
	n, d := m.x.Dims()
	w := mat.NewVecDense(d, nil)
	if !m.logistic {
		err := w.SolveVec(m.x, mat.NewVecDense(n, m.y))
		return w.RawVector().Data, err
	}
	for range 50 {
		grad, hess := mat.NewVecDense(d, nil), mat.NewSymDense(d, nil)
		for i := range n {
			row := mat.NewVecDense(d, m.x.RawRowView(i))
			p := 1 / (1 + math.Exp(-mat.Dot(row, w)))
			grad.AddScaledVec(grad, p-m.y[i], row)
			hess.SymRankOne(hess, p*(1-p), row)
		}
		var c mat.Cholesky
		if !c.Factorize(hess) {
			return nil, errors.New("the features are collinear")
		}
		var move mat.VecDense
		if err := c.SolveVecTo(&move, grad); err != nil {
			return nil, err
		}
		w.SubVec(w, &move)
		if mat.Norm(&move, 2) < 1e-10 {
			return w.RawVector().Data, nil
		}
	}
	return nil, errors.New("the fit without privacy does not settle")
}
