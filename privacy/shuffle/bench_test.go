package shuffle

import "testing"

// Reference: the published Python code takes 3.3 s for this query.
func BenchmarkEpsilon(b *testing.B) {
	for b.Loop() {
		Epsilon(100_000, 1, 1e-6)
	}
}

func BenchmarkEpsilonHuge(b *testing.B) {
	for b.Loop() {
		Epsilon(1_000_000_000, 0.1, 1e-6)
	}
}

func BenchmarkResponseEpsilon(b *testing.B) {
	for b.Loop() {
		ResponseEpsilon(100_000, 16, 1, 1e-6)
	}
}

func BenchmarkResponseEpsilonMillion(b *testing.B) {
	for b.Loop() {
		ResponseEpsilon(1_000_000, 4, 0.1, 1e-8)
	}
}

func BenchmarkResponseEpsilonHuge(b *testing.B) {
	for b.Loop() {
		ResponseEpsilon(1_000_000_000, 4, 0.1, 1e-8)
	}
}
