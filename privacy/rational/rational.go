package rational

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// Pattern is the grammar of an exact decimal number. A leading zero is no part of it: some
// readers of YAML take 010 for eight.
const Pattern = `^[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$`

var grammar = regexp.MustCompile(Pattern)

// An amount has at most MaxLength characters and an exponent of at most maxExponent: more
// than any δ needs, and too little to exhaust memory.
const (
	MaxLength   = 100
	maxExponent = 400
)

// What is wrong with a text that is no amount.
var (
	ErrLong     = fmt.Errorf("must be a number of at most %d characters", MaxLength)
	ErrInfinite = errors.New("must be finite")
	ErrNumber   = errors.New("must be a decimal number such as 0.5 or 1e-6")
	ErrExponent = fmt.Errorf("must have an exponent between -%d and %d", maxExponent, maxExponent)
)

// Parse reads an exact decimal number: 0.5, 1e-6, 3. It never rounds (P17).
func Parse(text string) (*big.Rat, error) {
	if len(text) > MaxLength {
		return nil, ErrLong
	}
	if !grammar.MatchString(text) {
		switch strings.ToLower(strings.TrimLeft(text, "+-")) {
		case ".inf", "inf", "infinity", ".nan", "nan":
			return nil, ErrInfinite
		}
		return nil, ErrNumber
	}
	if _, exp, ok := strings.Cut(strings.ToLower(text), "e"); ok {
		if e, err := strconv.Atoi(exp); err != nil || e > maxExponent || e < -maxExponent {
			return nil, ErrExponent
		}
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, ErrNumber
	}
	return r, nil
}

var errFraction = errors.New("not an exact amount")

// ParseFraction reads a fraction or a decimal without an exponent, which could ask for any amount of memory.
func ParseFraction(text string) (*big.Rat, error) {
	const most = 1 << 14
	r, ok := new(big.Rat), len(text) <= most && !strings.ContainsAny(text, "eEpP")
	if ok {
		_, ok = r.SetString(text)
	}
	if !ok {
		return nil, errFraction
	}
	return r, nil
}

// Near is the nearest number, and 0 for nil.
func Near(r *big.Rat) float64 {
	if r == nil {
		return 0
	}
	f, _ := r.Float64()
	return f
}

// Down is the largest float64 that is at most r: how a limit or a target is
// rounded (P17).
func Down(r *big.Rat) float64 {
	f, exact := r.Float64()
	if !exact && r.Cmp(ratOf(f)) < 0 {
		f = math.Nextafter(f, math.Inf(-1))
	}
	return f
}

// Up is the smallest float64 that is at least r: how a spend is rounded (P17).
func Up(r *big.Rat) float64 {
	return 0 - Down(new(big.Rat).Neg(r)) // 0 of 0, not −0
}

// ratOf is the exact value of f, or one beyond every float64 where f is infinite.
func ratOf(f float64) *big.Rat {
	if math.IsInf(f, 0) {
		huge := new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), 4096))
		if f < 0 {
			huge.Neg(huge)
		}
		return huge
	}
	return new(big.Rat).SetFloat64(f)
}

// Format prints r as the shortest exact decimal: "0.5", "1e-07", "1/3"
// where there is no finite one.
func Format(r *big.Rat) string {
	if r == nil {
		return ""
	}
	if r.IsInt() {
		s := r.Num().String()
		if digits := strings.TrimRight(s, "0"); len(s)-len(digits) > 6 {
			return digits + "e+" + strconv.Itoa(len(s)-len(digits))
		}
		return s
	}
	n, exact := r.FloatPrec()
	if !exact {
		return r.RatString()
	}
	s := r.FloatString(n)
	if n > 6 {
		neg := strings.HasPrefix(s, "-")
		whole, frac, _ := strings.Cut(strings.TrimPrefix(s, "-"), ".")
		if whole == "0" {
			digits := strings.TrimLeft(frac, "0")
			exp := len(frac) - len(digits) + 1
			if len(digits) > 1 {
				digits = digits[:1] + "." + digits[1:]
			}
			s = fmt.Sprintf("%se-%02d", digits, exp)
			if neg {
				s = "-" + s
			}
		}
	}
	return s
}
