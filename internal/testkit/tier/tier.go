package tier

import "testing"

// Of returns fast in the fast tier and full otherwise: tier.Of(20, 2000) cases.
func Of[T any](fast, full T) T {
	if testing.Short() {
		return fast
	}
	return full
}

// Some returns every n-th of all cases in the fast tier, from the first on, and all of them
// otherwise.
func Some[T any](all []T, n int) []T {
	if !testing.Short() {
		return all
	}
	var some []T
	for i := 0; i < len(all); i += n {
		some = append(some, all[i])
	}
	return some
}

// Full skips a test in the fast tier, and says which smaller one of its area runs there.
func Full(t testing.TB, stays string) {
	t.Helper()
	if testing.Short() {
		t.Skip("left to the full tests; in the fast tier stays " + stays)
	}
}
