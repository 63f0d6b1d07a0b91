//go:build amd64 || arm64

package sgd

// prefetch asks the memory for the cache lines of a row of size bytes and does not wait
// for them. It reads nothing. Go has no public function for it.
//
//go:noescape
func prefetch(row *float64, size int)
