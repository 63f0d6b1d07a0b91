package pld

import (
	"encoding/json"
	"testing"
)

// Table t9: one Poisson sample under replace-one with discrete Gaussian noise on one
// coordinate. The opposing pair attains the expected value: no sound bound is lower.
func TestTablePoissonReplaceDiscreteGaussian(t *testing.T) {
	rows := table(t, "t9_poisson_replace_discrete_gaussian")
	worst := 0.0
	for _, r := range rows {
		in := r.Inputs
		m := PoissonReplace(in.Q, DiscreteGaussian(in.Sigma, 1), DiscreteGaussian(in.Sigma, 2))
		iv, err := Epsilon(m, in.Delta, Options{})
		if err != nil {
			t.Errorf("%s: %v", r.ID, err)
			continue
		}
		exp := *r.Expected
		if iv.Upper < exp*(1-1e-9) || iv.Upper > exp*(1+1e-6) || iv.Lower > exp*(1+1e-9) || iv.Lower < exp*(1-1e-6) {
			t.Errorf("%s: q %v, sigma %v: [%v, %v], attained %v", r.ID, in.Q, in.Sigma, iv.Lower, iv.Upper, exp)
		}
		worst = max(worst, iv.Upper/exp-1)
	}
	t.Logf("%d rows, loosest %.1e above what is attained", len(rows), worst)
}

// shift is a sensitivity, which table t9 writes for each relation.
type shift int64

func (s *shift) UnmarshalJSON(b []byte) error {
	var both struct {
		AddRemove int64 `json:"add-remove"`
	}
	if json.Unmarshal(b, (*int64)(s)) == nil {
		return nil
	}
	err := json.Unmarshal(b, &both)
	*s = shift(both.AddRemove)
	return err
}
