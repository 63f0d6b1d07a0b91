package job

import (
	"errors"
	"fmt"
	"math/big"

	"github.com/dprelease/dprelease/internal/job/lang"
	"github.com/dprelease/dprelease/privacy/rational"
)

// ParseAmount is [rational.Parse], with the text in its errors.
func ParseAmount(text string) (*big.Rat, error) {
	r, err := rational.Parse(text)
	if err != nil && !errors.Is(err, rational.ErrLong) {
		err = fmt.Errorf("%w, not %s", err, lang.Shown(text))
	}
	return r, err
}
