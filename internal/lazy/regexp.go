package lazy

import (
	"regexp"
	"sync"
)

// Regexp returns a function that compiles expr when it is first called, and returns
// the same expression ever after. It may be called from several goroutines. expr
// must be a constant; one that does not compile panics at the first use, and fails
// the test of internal/house before.
func Regexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
