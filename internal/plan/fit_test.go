package plan

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// Whatever a cost does, what Fit returns was tried and cost at most the target: also where the
// cost jumps, falls, or is no number. A search that trusts its steps instead is caught.
func TestFitKeepsWithinTheTarget(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	caught := 0
	for range 2000 {
		power, jump := math.Exp(2*rng.Float64()-1), 0.3*rng.Float64()
		told := map[float64]float64{}
		by := &Scale{From: math.Exp(8*rng.Float64() - 4), Power: float64(rng.IntN(3)), Aim: 0.995}
		best, err := Fit(func(x float64) (float64, float64, error) {
			c := 3 * math.Pow(x, power) * (1 + jump*rng.Float64())
			switch rng.IntN(20) {
			case 0:
				c = math.NaN()
			case 1:
				c = math.Inf(1)
			case 2:
				c = 3 / c
			}
			told[x] = c
			return x, c, nil
		}, 3, 0.99, 12, by)
		if err != nil || best.Good && !(told[best.Made] <= 3 && best.Used == told[best.Made]/3) {
			t.Fatalf("%+v costs %v: %v", best, told[best.Made], err)
		}
		if x, ok := by.next(); ok && 3*math.Pow(x, power) > 3 {
			caught++
		}
	}
	if caught == 0 {
		t.Error("no step that was not tried costs more than the target")
	}
}

// A smooth cost is met in a few tries, from anywhere and with any power.
func TestFitIsNear(t *testing.T) {
	for _, power := range []float64{0.5, 1, 2, 3} {
		for _, from := range []float64{1e-3, 1, 30} {
			for _, told := range []float64{power, 0} {
				tries := 0
				best, err := Fit(func(x float64) (float64, float64, error) {
					tries++
					return x, math.Expm1(math.Pow(x, power)), nil
				}, 1, 0.99, 24, &Scale{From: from, Power: told, Aim: 0.995})
				if err != nil || best.Used < 0.99 || tries > 16 {
					t.Errorf("power %v from %v: %+v in %d tries, %v", power, from, best, tries, err)
				}
			}
		}
	}
}

// An error ends a search; what was found before it is returned beside it.
func TestFitStopsAtAnError(t *testing.T) {
	wrong := errors.New("no plan")
	best, err := Fit(func(x float64) (float64, float64, error) {
		if x > 1 {
			return 0, 0, wrong
		}
		return x, x / 2, nil
	}, 1, 0.99, 5, &Scale{From: 1, Power: 1, Aim: 0.995})
	if !errors.Is(err, wrong) || !best.Good || best.Made != 1 {
		t.Errorf("%+v, %v", best, err)
	}
}

// Where only some numbers may be tried, the search ends at the largest good one.
func TestFitRounds(t *testing.T) {
	best, err := Fit(func(x float64) (float64, float64, error) { return x, x, nil }, 7.5, 1, 20,
		&Scale{From: 1, Power: 1, Aim: 1, Round: math.Floor})
	if err != nil || best.Made != 7 {
		t.Errorf("%+v, %v", best, err)
	}
}
