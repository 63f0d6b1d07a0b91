package language

import (
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/dprelease/dprelease/internal/say/problem"
	"github.com/dprelease/dprelease/privacy/rational"
)

// ParseAmount is [rational.Parse], with the text in its errors.
func ParseAmount(text string) (*big.Rat, error) {
	r, err := rational.Parse(text)
	if _, day := time.Parse(time.DateOnly, text); err != nil && day == nil {
		err = fmt.Errorf("%w, and not a day: say type: date for a column of days, and cut it with bins", err)
	} else if err != nil && !errors.Is(err, rational.ErrLong) {
		err = fmt.Errorf("%w, not %s", err, problem.Shown(text))
	}
	return r, err
}
