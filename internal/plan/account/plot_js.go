package account

import (
	"errors"

	"github.com/dprelease/dprelease/privacy/expr"
)

// drawPlot refuses. A page draws its own plots, and the fonts would double its size.
func drawPlot(*expr.Query, *answer, string) error {
	return errors.New("there are no plots in JavaScript")
}
