package expr

import (
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/dprelease/dprelease/internal/say/problem"
)

// digits accepts the decimal spellings of JSON and YAML, and also a leading sign,
// a leading or trailing point, and underscores between digits.
var digits = regexp.MustCompile(`^[-+]?(\d+(_\d+)*(\.(\d+(_\d+)*)?)?|\.\d+(_\d+)*)([eE][-+]?\d+)?$`)

// based are the integers of YAML in another base.
var based = regexp.MustCompile(`^[-+]?0([xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)$`)

// octalLike is a number that YAML 1.1 reads in base 8 and people read in base 10.
var octalLike = regexp.MustCompile(`^[-+]?0\d+$`)

// decimalLength is the length of the longest number.
const decimalLength = 64

// parseFloat reads a finite number, or says what is wrong.
func parseFloat(text string) (x float64, wrong string) {
	s := strings.TrimSpace(text)
	switch lower := strings.ToLower(strings.TrimLeft(s, "+-.")); {
	case s == "":
		return 0, "must be a number"
	case lower == "nan" || lower == "inf" || lower == "infinity":
		return 0, "must be a finite number, not " + s
	case len(s) > decimalLength:
		return 0, "is too long for a number"
	case octalLike.MatchString(s):
		return 0, "must not start with 0: that is base 8 to some readers and base 10 to others"
	case based.MatchString(s):
		i, ok := new(big.Int).SetString(s, 0)
		if !ok {
			return 0, "must be a number"
		}
		x, _ = new(big.Float).SetInt(i).Float64()
		return x, ""
	case !digits.MatchString(s):
		return 0, "must be a number, not " + problem.Shown(text)
	}
	plain := strings.ReplaceAll(s, "_", "")
	x, err := strconv.ParseFloat(plain, 64)
	switch {
	case math.IsInf(x, 0):
		return 0, "is too large: at most about 1.8e308"
	case err != nil:
		return 0, "must be a number"
	case x == 0 && strings.ContainsAny(strings.Split(strings.ToLower(plain), "e")[0], "123456789"):
		// A δ of 0 would promise more than the text does.
		return 0, "is too small to be told from 0: at least about 5e-324"
	}
	return x, ""
}

// parseInt reads a whole number in any spelling, exactly: 1000, 1e3, "1_000",
// 1000.0.
func parseInt(text string) (n int64, wrong string) {
	x, wrong := parseFloat(text)
	if wrong != "" {
		return 0, wrong
	}
	s := strings.ReplaceAll(strings.TrimSpace(text), "_", "")
	if based.MatchString(s) {
		i, _ := new(big.Int).SetString(s, 0)
		if !i.IsInt64() {
			return 0, tooLarge
		}
		return i.Int64(), ""
	}
	if math.Abs(x) > 1<<63 {
		return 0, tooLarge
	}
	if x == 0 {
		return 0, ""
	}
	if math.Abs(x) < 0.5 {
		return 0, "must be a whole number"
	}
	// SetString is quick: |x| is below 2^63 and the text is short, so the exponent is small.
	r, ok := new(big.Rat).SetString(s)
	if !ok || !r.IsInt() {
		return 0, "must be a whole number"
	}
	if !r.Num().IsInt64() {
		return 0, tooLarge
	}
	return r.Num().Int64(), ""
}

const tooLarge = "is too large: at most 9223372036854775807"
