package pld

// pair is a leaf: a symmetric pair of distributions.
type pair interface {
	measure(r request) (measure, error)
	profile(eps float64) (float64, bool)
	reach(tail float64) float64 // losses lie in [-reach, reach] up to tail
	gaps() []gap
	key() string
}

// leaf makes a node of a symmetric pair: both directions are the same.
type leaf struct {
	pair
	err error
}

func (l leaf) mechanism() {}

func (l leaf) measure(_ direction, r request) (measure, error) { return l.pair.measure(r) }

func (l leaf) profile(_ direction, eps float64) (float64, bool) { return l.pair.profile(eps) }

func (l leaf) reach(_ direction, tail float64) (lo, hi float64) {
	hi = l.pair.reach(tail)
	return -hi, hi
}

func (l leaf) symmetric() bool        { return true }
func (l leaf) gaps(_ direction) []gap { return l.pair.gaps() }
func (l leaf) valid() error           { return l.err }
func (l leaf) depth() int             { return 1 }
func (l leaf) key() string            { return l.pair.key() }
