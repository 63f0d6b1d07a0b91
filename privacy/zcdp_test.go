package privacy

import (
	"math"
	"testing"

	"github.com/dprelease/dprelease/internal/calculus/rdp"
)

// The closed conversion agrees with the search over orders.
func TestZCDPConversion(t *testing.T) {
	for _, rho := range []float64{1e-9, 1e-4, .01, .5, 3, 100} {
		for _, eps := range []float64{0, 1e-6, .01, .3, 1, 5, 40, 300} {
			want, _ := rdp.Delta(rdp.ZCDP(rho), eps)
			got := zcdpDelta(rho, eps)
			if math.Abs(got-want) > 1e-3*want+1e-300 && got > want {
				t.Errorf("rho %g eps %g: %g, the search finds %g", rho, eps, got, want)
			}
			// The Gaussian with this rho is one such mechanism.
			if truth := gaussianDelta(math.Sqrt(2*rho), eps); got < truth*(1-1e-9) {
				t.Errorf("rho %g eps %g: %g is below the Gaussian's %g", rho, eps, got, truth)
			}
		}
	}
}
