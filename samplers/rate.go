package samplers

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"sync"
)

// Rate is a sampling rate in (0, 1], an exact rational. The zero value is
// invalid.
type Rate struct{ num, den uint64 }

// A decimal or a fraction of bounded length: nothing that could grow.
var rateSyntax = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\d{1,20}(\.\d{0,40})?|\.\d{1,40})([eE][+-]?\d{1,2})?$|^\d{1,20}/\d{1,20}$`)
})

// ParseRate reads a decimal ("0.2", "1e-3") or a fraction ("1/3"), exactly.
func ParseRate(text string) (Rate, error) {
	if !rateSyntax().MatchString(text) {
		return Rate{}, fmt.Errorf("rate: write a decimal such as 0.05, of at most 19 decimals, or a fraction such as 1/20")
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return Rate{}, fmt.Errorf("rate: the denominator is zero")
	}
	if r.Sign() <= 0 || r.Cmp(big.NewRat(1, 1)) > 0 {
		return Rate{}, fmt.Errorf("rate: %s is not above 0 and at most 1", text)
	}
	if !r.Denom().IsUint64() {
		return Rate{}, fmt.Errorf("rate: %s has too many digits: round it to 19 decimals or fewer", text)
	}
	return Rate{num: r.Num().Uint64(), den: r.Denom().Uint64()}, nil
}

// Fraction returns the rate as a fraction in lowest terms.
func (r Rate) Fraction() (num, den uint64) { return r.num, r.den }

// Float returns the float64 nearest to the rate.
func (r Rate) Float() float64 {
	if r.den == 0 {
		return 0
	}
	f, _ := r.rat().Float64()
	return f
}

// Upper returns the smallest float64 that is not below the rate: what is charged
// is rounded up (P17).
func (r Rate) Upper() float64 {
	f := r.Float()
	if f > 0 && new(big.Rat).SetFloat64(f).Cmp(r.rat()) < 0 {
		f = math.Nextafter(f, 1)
	}
	return f
}

// String returns the rate as a fraction.
func (r Rate) String() string {
	return strconv.FormatUint(r.num, 10) + "/" + strconv.FormatUint(r.den, 10)
}

func (r Rate) valid() bool { return r.num > 0 && r.num <= r.den }

func (r Rate) less(o Rate) bool { return r.rat().Cmp(o.rat()) < 0 }

func (r Rate) rat() *big.Rat {
	return new(big.Rat).SetFrac(new(big.Int).SetUint64(r.num), new(big.Int).SetUint64(r.den))
}
