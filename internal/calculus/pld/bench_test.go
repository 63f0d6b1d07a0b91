package pld

import "testing"

// Reference: dp_accounting 520 ms (6.90742) or 54 ms (6.91091), the PRV accountant
// 13 s for [6.89739, 6.90869]. The truth lies in [6.89739, 6.90742].
func BenchmarkPoissonGaussian(b *testing.B) {
	for b.Loop() {
		iv, err := Epsilon(Repeat(10_000, Poisson(0.01, Gaussian(1))), 1e-6, Options{UpperOnly: true})
		if err != nil || iv.Upper > 6.9080 {
			b.Fatal(iv, err)
		}
	}
}

// The same with its lower bound.
func BenchmarkPoissonGaussianInterval(b *testing.B) {
	for b.Loop() {
		if _, err := Epsilon(Repeat(10_000, Poisson(0.01, Gaussian(1))), 1e-6, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// Reference: calibration of sigma to eps = 2 by dp_accounting's PLD 1.24 s.
func BenchmarkCalibrate(b *testing.B) {
	for b.Loop() {
		lo, hi := 0.5, 8.0
		for hi-lo > 1e-4*hi {
			mid := (lo + hi) / 2
			iv, err := Epsilon(Repeat(10_000, Poisson(0.01, Gaussian(mid))), 1e-6, Options{UpperOnly: true})
			if err != nil {
				b.Fatal(err)
			}
			if iv.Upper <= 2 {
				hi = mid
			} else {
				lo = mid
			}
		}
	}
}
