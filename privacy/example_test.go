package privacy_test

import (
	"errors"
	"fmt"
	"log"
	"math/big"

	"github.com/dprelease/dprelease/privacy"
)

// A thousand steps of noisy gradient descent, each on a Poisson sample of one row in a hundred.
func ExampleEpsilonAt() {
	e := privacy.Repeat{N: 1000, Event: privacy.Poisson{Rate: 0.01, Event: privacy.Gaussian{Sigma: 1}}}
	a, err := privacy.EpsilonAt(e, privacy.AddRemove, 1e-6)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("ε %.2f at δ %g, by %s; no sound accountant goes below %.2f\n", a.Epsilon, a.Delta, a.Method, a.Lower)
	// Output:
	// ε 2.12 at δ 1e-06, by pld; no sound accountant goes below 2.12
}

// The least noise with which ten sums over a sample of one row in ten cost ε 1.
func ExampleCalibrate() {
	sums := func(precision float64) privacy.Event {
		return privacy.Poisson{Rate: 0.1, Event: privacy.Repeat{N: 10, Event: privacy.Gaussian{Sigma: 1 / precision}}}
	}
	precision, a, err := privacy.Calibrate(sums, privacy.AddRemove, privacy.Point{Epsilon: 1, Delta: 1e-6}, 0.01, 10)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("σ %.3f costs ε %.3f\n", 1/precision, a.Epsilon)
	// Output:
	// σ 4.530 costs ε 1.000
}

// A filter decides, one query after another, whether the next one still fits.
func ExampleNewZCDPFilter() {
	f, err := privacy.NewZCDPFilter(privacy.AddRemove, big.NewRat(1, 8))
	if err != nil {
		log.Fatal(err)
	}
	cost, err := f.Cost(privacy.Gaussian{Sigma: 4})
	if err != nil {
		log.Fatal(err)
	}
	for n := 0; ; n++ {
		if err := f.Spend(cost); errors.Is(err, privacy.ErrExhausted) {
			fmt.Println(n, "queries fit")
			return
		} else if err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// 4 queries fit
}
