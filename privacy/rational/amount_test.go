package rational

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"
)

// Amounts are compared exactly and in both numbers, and a ρ compares with a ρ alone. What is
// not finite is at most nothing.
func TestAtMost(t *testing.T) {
	third := Amount{Epsilon: big.NewRat(1, 3), Delta: big.NewRat(1, 1_000_000)}
	for name, c := range map[string]struct {
		a, b Amount
		want bool
	}{
		"the same":         {third, third, true},
		"just above":       {Amount{Epsilon: big.NewRat(1_000_001, 3_000_000), Delta: third.Delta}, third, false},
		"a larger delta":   {Amount{Epsilon: new(big.Rat), Delta: big.NewRat(1, 1000)}, third, false},
		"rounded up":       {Exactly(Up(third.Epsilon), 0), third, false},
		"rounded down":     {Exactly(Down(third.Epsilon), 0), third, true},
		"infinite":         {Exactly(math.Inf(1), 0), third, false},
		"a rho":            {Amount{Rho: big.NewRat(1, 10)}, Amount{Rho: big.NewRat(1, 10)}, true},
		"a larger rho":     {Amount{Rho: big.NewRat(1, 9)}, Amount{Rho: big.NewRat(1, 10)}, false},
		"a rho, no rho":    {Amount{Rho: big.NewRat(1, 10)}, third, false},
		"a point of a rho": {third, Amount{Rho: big.NewRat(1, 10)}, false},
	} {
		if got := c.a.AtMost(c.b); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if sum := third.Plus(third).Minus(third); !sum.AtMost(third) || !third.AtMost(sum) {
		t.Errorf("%v and back is %v", third, sum)
	}
}

// What an amount writes of itself it reads again, and nothing that could not be a limit or take memory.
func TestAmountAsJSON(t *testing.T) {
	for _, text := range []string{`{"epsilon":"1/3","delta":"0"}`, `{"rho":"1/10"}`} {
		var a Amount
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			t.Fatal(text, err)
		}
		if again, err := json.Marshal(a); err != nil || string(again) != text {
			t.Errorf("%s became %s, %v", text, again, err)
		}
	}
	for _, text := range []string{`{}`, `null`, `1`, `{"epsilon":"1"}`, `{"delta":"1"}`, `{"epsilon":"1","delta":"0","rho":"1"}`,
		`{"rho":"1","delta":"0"}`, `{"rho":"1e99"}`, `{"rho":"1p99"}`, `{"rho":""}`, `{"rho":1}`, `{"rho":"1","more":"1"}`,
		`{"Rho":"1"}`, `{"rho":"1/0"}`, `{"rho":"` + strings.Repeat("9", 1<<14+1) + `"}`} {
		if err := json.Unmarshal([]byte(text), new(Amount)); err == nil {
			t.Errorf("%.40s is read", text)
		}
	}
}
