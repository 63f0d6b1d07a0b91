//go:build linux && !amd64 && !arm64

package launcher

// machine is 0: the calls of this processor are not known.
const (
	machine    = 0
	otherCalls = 0xffffffff
)

var Opening, Forking, ChangingThen, attributesThen, refusedThen []uint32
