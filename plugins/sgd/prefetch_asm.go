//go:build amd64 || arm64

package sgd

// prefetch asks for the cache lines of a row of size bytes, and waits for none of
// them. It reads nothing, so that it can do no harm but to take time; Go has no
// public function for it.
//
//go:noescape
func prefetch(row *float64, size int)
