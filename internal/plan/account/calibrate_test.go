package account

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/expr"
)

// TestCalibrate asks for each parameter, and checks the answer by asking the
// other way round: the value meets the target, and a little more does not.
func TestCalibrate(t *testing.T) {
	for _, c := range []struct{ relation, event, ask string }{
		{"add-remove", `{gaussian: {}}`, `calibrate: sigma, epsilon: 1, delta: 1e-6`},
		{"replace-one", `{laplace: {scale: 7}}`, `calibrate: scale, epsilon: 0.5, delta: 0, methods: [basic]`},
		{"add-remove", `{repeat: {n: 1000, event: {poisson: {rate: 0.01, event: {gaussian: {}}}}}}`, `calibrate: sigma, epsilon: 2, delta: 1e-6`},
		{"add-remove", `{repeat: {n: 1000, event: {poisson: {rate: 0.01, event: {gaussian: {}}}}}}`, `calibrate: sigma, epsilon: 2, delta: 1e-6, methods: [rdp]`},
		{"add-remove", `{repeat: {n: 100, event: {poisson: {event: {gaussian: {sigma: 1}}}}}}`, `calibrate: rate, epsilon: 1, delta: 1e-6, methods: [rdp]`},
		{"add-remove", `{repeat: {event: {poisson: {rate: 0.01, event: {gaussian: {sigma: 1}}}}}}`, `calibrate: steps, epsilon: 2, delta: 1e-6, methods: [rdp]`},
		{"add-remove", `{repeat: {event: {poisson: {rate: 0.01, event: {gaussian: {sigma: 1}}}}}}`, `calibrate: n, epsilon: 1, delta: 1e-6`},
		{"add-remove", `{repeat: {event: {pure: {eps: 0.1}}}}`, `calibrate: n, epsilon: 1e6, delta: 0, methods: [basic]`},
		{"replace-one", `{without_replacement: {N: 10000, event: {pure: {eps: 2}}}}`, `calibrate: n, epsilon: 0.1, delta: 0, methods: [basic]`},
		{"replace-one", `{without_replacement: {n: 100, event: {pure: {eps: 2}}}}`, `calibrate: N, epsilon: 0.1, delta: 0, methods: [basic]`},
		{"replace-one", `{without_replacement: {n: 100, N: 10000, event: {pure: {}}}}`, `calibrate: eps, epsilon: 1, delta: 0, methods: [basic]`},
		{"add-remove", `{zcdp: {}}`, `calibrate: rho, epsilon: 1, delta: 1e-6, methods: [rdp]`},
		{"replace-one", `{randomized_response: {k: 4}}`, `calibrate: eps0, epsilon: 1, delta: 0, methods: [basic]`},
		{"replace-one", `{shuffled: {event: {pure: {eps: 1}}}}`, `calibrate: n, epsilon: 0.1, delta: 1e-6`},
		{"add-remove", `{compose: [{gaussian: {sigma: 5}}, {gaussian: {}}]}`, `calibrate: "compose[1].gaussian.sigma", epsilon: 1, delta: 1e-6, methods: [basic]`},
	} {
		text := fmt.Sprintf(`{relation: %s, event: %s, query: {%s}}`, c.relation, c.event, c.ask)
		q, problems := expr.ParseQuery([]byte(text), "")
		if problems != nil {
			t.Errorf("%s: %v", text, problems)
			continue
		}
		a, err := answerQuery(q)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		x := float64(a.Calibrated.Value)
		if float64(a.Epsilon) > q.Epsilon || float64(a.Delta) != q.Delta || a.Calibrated.Parameter != q.Parameter.Path {
			t.Errorf("%s: %s = %v gives (%v, %v)", text, a.Calibrated.Parameter, x, a.Epsilon, a.Delta)
		}
		more := x * 0.99
		if q.Parameter.Most {
			more = x * 1.01
		}
		if q.Parameter.Whole {
			if more = x - 1; q.Parameter.Most {
				more = x + 1
			}
		}
		at := func(x float64) float64 {
			got, err := privacy.EpsilonWith(q.Parameter.Set(q.Event, x), q.Relation, q.Delta, privacy.Options{Methods: q.Methods})
			if err != nil {
				t.Errorf("%s at %v: %v", text, x, err)
			}
			return got.Epsilon
		}
		if at(x) > q.Epsilon || at(more) <= q.Epsilon {
			t.Errorf("%s: %v gives %v and %v gives %v", text, x, at(x), more, at(more))
		}
		t.Logf("%-110s %s = %v", text, a.Calibrated.Parameter, x)
	}
}

func TestBoundary(t *testing.T) {
	for _, last := range []int64{0, 1, 5, 100, 1 << 40} {
		for _, edge := range []int64{0, 1, 2, 3, 7, 64, 99, 100, 12345, 1 << 39, 1<<40 - 1, 1 << 40} {
			for _, start := range []int64{0, 1, edge / 2, edge - 1, edge} {
				if edge > last || start < 0 || start > edge {
					continue
				}
				calls := 0
				got := boundary(func(i int64) bool {
					if calls++; i < 0 || i > last {
						t.Fatalf("asked for %d of %d", i, last)
					}
					return i <= edge
				}, start, last)
				if got != edge || calls > 120 {
					t.Errorf("edge %d of %d from %d: got %d after %d calls", edge, last, start, got, calls)
				}
			}
		}
	}
}

func TestCalibratedObject(t *testing.T) {
	_, out, _ := run("", Options{JSON: true, Expr: `{relation: add-remove, event: {repeat: {event: {pure: {eps: 0.25}}}}, query: {calibrate: n, epsilon: 3, delta: 0, methods: [basic]}}`})
	var got struct {
		Calibrated struct {
			Parameter string
			Value     float64
		}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || got.Calibrated.Parameter != "repeat.n" || got.Calibrated.Value != 12 {
		t.Errorf("got %s %v", out, err)
	}
}
