package amplify

import (
	"math"
	"math/big"
	"testing"
)

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

// below reports whether x is below a number of 25 digits, which no float64 holds.
func below(t *testing.T, x float64, truth string) bool {
	t.Helper()
	exact, _, err := big.ParseFloat(truth, 10, 200, big.ToNearestEven)
	if err != nil {
		t.Fatal(err)
	}
	return big.NewFloat(x).Cmp(exact) < 0
}

// At points where the operations of a rule round downwards together by more than a unit in the last place, a result is not below
// the truth, of 400 bits. Without the slack of the rules each ε is, and without the 1e-11 of the recursion each of its bounds is.
func TestRoundingOfOperationsIsCovered(t *testing.T) {
	for _, c := range []struct {
		rate, eps float64
		truth     string
	}{
		{0x1.994faaf1f3e9fp-21, 0x1.1ae37975fd0f3p-20, "8.034512120577168958807387e-13"},
		{0x1.b295e3a2f4bc3p-38, 0x1.d860ac6348c6bp-02, "3.619930147356430348911893e-12"},
		{0x1.897684bc6ea03p-19, 0x1.08c41e7ec0c7dp-10, "2.962345796631363500020533e-9"},
		{0x1.0cde389d78575p-29, 0x1.72f94eb500861p-03, "3.884814227376957619601168e-10"},
		{0x1.5c1ca5ebf3cc5p-39, 0x1.01dc3cbc5ba7fp-10, "2.434261681744803781323185e-15"},
	} {
		if got := Epsilon(c.rate, c.eps); below(t, got, c.truth) {
			t.Errorf("Epsilon(%g, %g) is %.20g, below %s", c.rate, c.eps, got, c.truth)
		}
	}
	for _, c := range []struct {
		eps    float64
		truth  string
		design Design
	}{
		{0x1.876b7fa58bf03p-08, "4.753298934836907748971153e-50",
			Design{{2, 1877017305, 0}, {252, 4662, 0}, {2, 82666026599524786, 0}, {5, 2385746478073387, 0}, {5, 2294286476279654, 0}}},
		{0x1.f9212f31d8332p-06, "1.125898243635594378705146e-51",
			Design{{3, 149952991, 0}, {5, 438770386476, 0}, {4, 1998316901004286, 0}, {2, 84472260115571090, 0}}},
		{0x1.7db1cc721d3b5p-07, "2.097146694248253961458207e-50",
			Design{{1, 430621329919618, 0}, {3, 3, 0}, {2, 133882824942754194, 0}, {5, 135848484455415746, 0}}},
		{0x1.b7b9382fed78fp-07, "4.46087745352156727907903e-49",
			Design{{2, 30951834, 0}, {1, 49575799008643906, 0}, {4, 1104449367706160, 0}, {2, 1957, 0}, {5, 1232858, 0}}},
		{0x1.47b07037826d9p-05, "1.421197978593888215606255e-30",
			Design{{29863851828904, 264579395813923, 0}, {1, 99692053088, 0}, {5, 277, 0}, {5, 7664020060993537, 0}}},
		{0x1.347546e2ffeaap-02, "2.980818997616176659858684e-27",
			Design{{1, 9120252962, 0}, {1, 11650273433212438, 0}, {2, 3, 0}}},
	} {
		if got := c.design.Recursion(c.eps); below(t, got, c.truth) {
			t.Errorf("%v: the recursion at %g is %.20g, below %s", c.design, c.eps, got, c.truth)
		}
	}
	for _, c := range []struct {
		e, eps, inclusion float64
		truth             string
	}{
		{0x1.3a9b96e80b5ffp-28, 0x1.99b063a8b0a5ep-18, 0x1.66166f362c753p-11, "0.09347823679879971698034246"},
		{0x1.7d758aab8d83ap-29, 0x1.3e808bc3655b7p-24, 0x1.48a7be9dc7233p-15, "6.862014539160639972975954"},
		{0x1.46003cb079adp-05, 0x1.58aa0a0de0eeap-04, 0x1.cab2246c38217p-197, "135.2399137324352436033952"},
	} {
		if got := beyond(c.e, c.eps, c.inclusion); !below(t, got, c.truth) {
			t.Errorf("s − e at %g, %g, %g is %.20g, above %s", c.e, c.eps, c.inclusion, got, c.truth)
		}
	}
}

// Units are swapped below the first stage, too: of two regions that are both taken one school each is drawn, and of a school either
// one pupil or two. A mechanism that publishes how many it got is private under replace-one, whatever its ε, and tells which school
// was drawn: only conditioning holds. Forms 1 and 2 ask for more of the mechanism.
func TestUnequalUnitsBelowAnyStage(t *testing.T) {
	for _, c := range []struct {
		design Design
		want   bool
	}{
		{Design{{2, 2, 0}, {1, 2, 0}, {1, 2, 2}}, true},
		{Design{{2, 2, 0}, {2, 2, 0}, {1, 2, 0}, {1, 2, 2}}, true},
		{Design{{1, 2, 0}, {1, 2, 0}, {1, 2, 2}}, true},
		{Design{{1, 2, 0}, {1, 2, 2}}, true},
		{Design{{2, 2, 0}, {1, 2, 2}}, false}, // every unit of the first stage is taken, and none is swapped
		{Design{{2, 2, 0}, {1, 2, 0}, {1, 2, 0}}, false},
		{Design{{1, 2, 0}, {1, 2, 0}}, false},
	} {
		if got := c.design.SwapsUnequalUnits(); got != c.want {
			t.Errorf("%v swaps unequal units: %v", c.design, got)
		}
		least := math.Min(c.design.Conditioned(1), math.Min(c.design.GroupForm(1), c.design.Recursion(1)))
		if c.want {
			least = c.design.Conditioned(1)
		}
		if got := c.design.Pure(1, false); got != least {
			t.Errorf("%v: %g, want %g", c.design, got, least)
		}
	}
}
