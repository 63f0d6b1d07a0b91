package amplify

import "testing"

// Rates, epsilons and deltas at the ends of float64, at points where earlier forms were
// below the truth: the figures are from 2,600 bits, rounded down.
func TestRoundingIsUpwards(t *testing.T) {
	for _, c := range []struct {
		what       string
		got, truth float64
		most       float64
	}{
		{"a rate and an ε whose product underflows", Epsilon(0x1p-1074, 0x1.d7db980309904p-122), 5e-324, tiny},
		{"two logarithms that cancel", Epsilon(0x1.d8ad2e2cf3b3ep-997, 0x1.684c3be2ec2a7p+09), 0x1.e241d50bf6c21p+4, 30.1410724},
		{"recursion, odds that underflow", climb(0x1p-1074, 0x1.37094e5b28a8fp+03, 0x1.3ce6b1c389488p+03), 9.87749260198e-320, 1e-300},
		{"recursion, a small ε and a large group", climb(0x1p-1074, 0x1.979198690d5f4p-24, 0x1.710418b85ea13p+09), 1.56148348223e-10, 1e-7},
		{"pure, the least ε", PureDelta(0x1p-1073, 0x1p-1074), 5e-324, tiny},
		{"group of 85 at ε 710", GroupDelta(0x1.54p+06, 0x1.633e2a5783b52p+09, func(float64) float64 { return 0x1.47p-1065 }), 2.75011730665e-16, 2.7501174e-16},
		{"group of 3 at ε 402", GroupDelta(3, 0x1.9274cc4cd6efdp+08, func(float64) float64 { return 0x1p-1000 }), 0x1.0eccc5db1bb34p-613, 0x1.0eccc5db1cp-613},
		{"posterior of the least rate", Posterior(0x1p-1074, 0x1.746d50c99649fp+09), 0.602036076828, 1},
	} {
		if !(c.got >= c.truth && c.got <= c.most) {
			t.Errorf("%s: %.17g, the truth is %.17g", c.what, c.got, c.truth)
		}
	}
}
