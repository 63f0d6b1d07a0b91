package account

import (
	"errors"

	"github.com/dprelease/dprelease/internal/expr"
)

// drawPlot refuses: a page draws its own, and the fonts would double what it loads.
func drawPlot(*expr.Query, *answer, string) error {
	return errors.New("there are no plots in JavaScript")
}
