package rdp

import "testing"

// Reference on such a machine: dp_accounting 27 ms (7.4141), opacus 14 ms.
func BenchmarkEpsilonPoissonGaussian(b *testing.B) {
	for b.Loop() {
		Epsilon(Repeat(10000, PoissonGaussian(0.01, 1)), 1e-6)
	}
}

// No reference: dp_accounting's without-replacement curve takes about 100 ms at its default orders.
func BenchmarkEpsilonWithoutReplacementGaussian(b *testing.B) {
	for b.Loop() {
		Epsilon(Repeat(10000, WithoutReplacementGaussian(0.01, 1)), 1e-6)
	}
}

func BenchmarkEpsilonPoissonLaplace(b *testing.B) {
	for b.Loop() {
		Epsilon(Repeat(10000, Poisson(0.01, Laplace(1), true)), 1e-6)
	}
}

func BenchmarkEpsilonWithoutReplacementLaplace(b *testing.B) {
	for b.Loop() {
		Epsilon(Repeat(10000, WithoutReplacement(0.01, Laplace(1))), 1e-6)
	}
}
