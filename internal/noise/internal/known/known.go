package known

// Choices replaces chance: Choose if it is set, else the bytes of Tape.
type Choices struct {
	Tape   []byte
	Choose func(n uint64) uint64
}
