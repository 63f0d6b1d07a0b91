package run

import (
	"io/fs"
	"math/bits"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
)

// The bounds of what a run takes, and what it takes where the machine does not say how much it has.
const (
	leastMemory   = 256 << 20
	unknownMemory = 1 << 30
)

// Memory returns how many bytes the values of a table may take at once: a quarter of what the machine, or the
// container, has, rounded down to a power of two.
//
// P33: nobody who runs a job chooses this number. What a table needs is compared with it before the debit, and two needs
// between two powers of two get the same answer.
var Memory = sync.OnceValue(func() int64 { return memoryOf(os.DirFS("/")) })

// memoryOf reads the files in which Linux says what there is.
func memoryOf(root fs.FS) int64 {
	has := total(root)
	for _, limit := range groupLimits(root) {
		if has == 0 || limit < has {
			has = limit
		}
	}
	if has == 0 {
		return unknownMemory
	}
	quarter := uint64(has) / 4
	return max(leastMemory, int64(1)<<max(0, bits.Len64(quarter)-1))
}

// total returns the memory of the machine, or 0.
func total(root fs.FS) int64 {
	b, err := fs.ReadFile(root, "proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			return 1024 * number(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
		}
	}
	return 0
}

// groupLimits returns the limits of the control groups that hold this process, and of those around them.
func groupLimits(root fs.FS) (limits []int64) {
	b, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(b)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		base, file := "sys/fs/cgroup", "memory.max"
		switch parts[1] {
		case "":
		case "memory": // of the first version
			base, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		// In a container the path may be that of the machine, and the container's own group the root.
		for at := path.Clean("/" + parts[2]); ; at = path.Dir(at) {
			if b, err := fs.ReadFile(root, path.Join(base, at, file)); err == nil {
				if n := number(strings.TrimSpace(string(b))); n > 0 {
					limits = append(limits, n)
				}
			}
			if at == "/" {
				break
			}
		}
	}
	return limits
}

// number reads a number, and returns 0 for any other text: "max" is no limit.
func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
