package linear

import (
	"encoding/json"
	"errors"
	"math"
)

// Change is the host's word that a release is the change of a figure between two periods of a
// series: each query comes twice, first for the later period and then for the earlier one, and
// each number of one has noise that is correlated with that of the same number of the other.
type Change struct {
	Correlation float64 `json:"correlation"`
}

var errNoChange = errors.New("tells no change between two periods: its figures are neither sums nor quotients of sums; " +
	"leave change out of publish, or put the release into a job of its own")

// changeOf reads the word of the host, nil where there is none.
func changeOf(raw json.RawMessage) (*Change, error) {
	var p struct {
		Interval struct {
			Change *Change `json:"change"`
			Square float64 `json:"square"`
		} `json:"interval"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &p) != nil || p.Interval.Change == nil {
		return nil, nil
	}
	if c := p.Interval.Change.Correlation; !(c >= -1 && c <= 1) || p.Interval.Square != 0 { // a series draws no sample
		return nil, errHost
	}
	return p.Interval.Change, nil
}

// At is the estimate of a cell from the noisy sums of the queries; where the request asks for a
// change, the later period's less the earlier one's.
func (f *Form) At(query, cell int, sums [][]int64, noises []Noise) Estimate {
	of := func(q int) Estimate {
		parts := f.Queries[q].Reach.Parts
		return f.Estimate(query, sums[q][cell*parts:(cell+1)*parts], noises[q])
	}
	if f.change == nil {
		return of(query)
	}
	return of(query).Less(of(query+len(f.Queries)/2), f.change.Correlation)
}

// Less is the estimate of the difference of two quotients; its count and sums are differences too. Correlation is that of the noise in a
// sum of one with the noise in the same sum of the other.
//
// The interval is made from those of the two quotients, by the method of variance estimates
// recovery for dependent estimates (Zou and Donner 2008; Zou 2007): each end lies as far from the difference as
// the two nearer ends would if errors were added like those of correlated normal variables. So
// it is as skew as they are. Where one of them was cut off at what is possible, the change lies
// between the differences of their ends, whatever the errors share.
func (e Estimate) Less(before Estimate, correlation float64) Estimate {
	out := Estimate{Value: e.Value - before.Value, Count: e.Count - before.Count, Above: e.Above - before.Above, Below: e.Below - before.Below}
	r := correlation * (e.along[0]*before.along[0] + e.along[1]*before.along[1])
	apart := func(a, b float64) float64 { return math.Sqrt(math.Max(0, a*a+b*b-2*r*a*b)) }
	out.SD = apart(e.SD, before.SD)
	if e.cut || before.cut { // an end at a bound does not say how far the error reaches
		out.Low, out.High = e.Low-before.High, e.High-before.Low
	} else {
		out.Low = out.Value - apart(e.Value-e.Low, before.High-before.Value)
		out.High = out.Value + apart(e.High-e.Value, before.Value-before.Low)
	}
	if math.IsNaN(out.Value) || math.IsNaN(out.Low) || math.IsNaN(out.High) {
		return out.Blank()
	}
	return out
}

// Along is the estimate of a quotient with the direction in which the noise of the sums above and
// below the line moves it.
func (e Estimate) Along(above, below float64) Estimate {
	if size := math.Hypot(above, below); size > 0 {
		e.along = [2]float64{above / size, below / size}
	}
	return e
}
