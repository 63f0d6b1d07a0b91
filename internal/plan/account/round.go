package account

import (
	"math"
	"strconv"
	"strings"
)

// shownDigits is the number of digits that people are shown; --json has all of them.
const shownDigits = 6

// up shows a number that is charged: never below the truth (P17).
func up(x float64) string { return shown(x, 1) }

// down shows a lower bound or a limit: never above the truth (P17).
func down(x float64) string { return shown(x, -1) }

// shortest shows a number that was written by the user, as written.
func shortest(x float64) string { return plain(strconv.FormatFloat(x, 'e', -1, 64)) }

// shown rounds to shownDigits away from zero (sign 1) or towards it (sign −1).
// x is not negative.
func shown(x float64, sign int) string {
	if x == 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return shortest(x)
	}
	s := strconv.FormatFloat(x, 'e', shownDigits-1, 64)
	rounded, err := strconv.ParseFloat(s, 64)
	if err != nil || (rounded-x)*float64(sign) >= 0 {
		return plain(s)
	}
	// One unit of the last digit further; the digits as a whole number cannot
	// be rounded again.
	mant, exp, _ := strings.Cut(s, "e")
	digits, _ := strconv.ParseInt(strings.Replace(mant, ".", "", 1), 10, 64)
	e, _ := strconv.Atoi(exp)
	whole := strconv.FormatInt(digits+int64(sign), 10)
	if len(whole) < shownDigits {
		whole += "9" // 1.00000 was rounded up from 0.999999…
		e--
	}
	return plain(whole[:1] + "." + whole[1:] + "e" + strconv.Itoa(e+len(whole)-shownDigits))
}

// plain writes "1.23450e+02" as "123.45" and leaves very large and very small
// numbers their exponent. It moves the point and never rounds.
func plain(s string) string {
	mant, exp, ok := strings.Cut(s, "e")
	if !ok {
		return strings.Replace(strings.TrimPrefix(s, "+"), "Inf", "∞", 1)
	}
	e, err := strconv.Atoi(exp)
	if err != nil {
		return s
	}
	sign := ""
	if strings.HasPrefix(mant, "-") {
		sign, mant = "-", mant[1:]
	}
	digits := strings.TrimRight(strings.Replace(mant, ".", "", 1), "0")
	if digits == "" {
		return "0"
	}
	switch {
	case e < -4 || e > 9:
		if len(digits) > 1 {
			digits = digits[:1] + "." + digits[1:]
		}
		return sign + digits + "e" + strconv.Itoa(e)
	case e < 0:
		return sign + "0." + strings.Repeat("0", -e-1) + digits
	case len(digits) <= e+1:
		return sign + digits + strings.Repeat("0", e+1-len(digits))
	}
	return sign + digits[:e+1] + "." + digits[e+1:]
}
