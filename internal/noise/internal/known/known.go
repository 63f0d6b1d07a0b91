// Package known says what a test's Source returns instead of random bits. Only packages
// below internal/noise can name its type, so no other package can make such a Source but
// by importing insecurenoise. It imports nothing.
package known

// Choices replaces chance: Choose if it is set, else the bytes of Tape.
type Choices struct {
	Tape   []byte
	Choose func(n uint64) uint64
}
