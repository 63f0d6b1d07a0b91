package report

import (
	"html"
	"html/template"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/dprelease/dprelease/internal/say/figure"
)

// Spent prints a charged figure with four significant digits, rounded up (P17).
func Spent(x float64) string { return digits(x, true) }

// Allowed prints a limit or a target with four significant digits, rounded down.
// The billionths that a plan keeps back for rounding are shown as part of it.
func Allowed(x float64) string { return digits(x, false) }

func digits(x float64, up bool) string {
	text := strconv.FormatFloat(x, 'g', -1, 64)
	r, ok := new(big.Rat).SetString(text) // the number as it is written, not its bits
	if !ok {
		return text
	}
	if !up {
		r.Mul(r, keptBack)
	}
	return fourDigits(r, up)
}

// keptBack shows what a plan leaves to rounding as part of the target.
var keptBack = big.NewRat(1_000_000_003, 1_000_000_000)

// fourDigits rounds an exact number to four significant digits, up or down.
func fourDigits(r *big.Rat, up bool) string {
	f, _ := r.Float64()
	if f == 0 || math.IsInf(f, 0) {
		return short(strconv.FormatFloat(f, 'g', 4, 64))
	}
	exponent := int(math.Floor(math.Log10(math.Abs(f)))) - 3
	scale := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(exponent, -exponent))), nil))
	if exponent > 0 {
		scale.Inv(scale)
	}
	scaled := scale.Mul(scale, r)
	steps, rest := new(big.Int).DivMod(scaled.Num(), scaled.Denom(), new(big.Int)) // Rounded down
	if up && rest.Sign() > 0 {
		steps.Add(steps, big.NewInt(1))
	}
	rounded, err := strconv.ParseFloat(steps.String()+"e"+strconv.Itoa(exponent), 64)
	if err != nil {
		return short(strconv.FormatFloat(f, 'g', 4, 64))
	}
	return short(strconv.FormatFloat(rounded, 'g', 4, 64))
}

// short writes 1e-06 as 1e-6.
func short(s string) string {
	return strings.Replace(strings.Replace(s, "e-0", "e-", 1), "e+0", "e+", 1)
}

// factor prints e^ε, rounded up; beyond the floats it is only said to be vast.
func factor(eps float64) string {
	f := math.Exp(eps)
	if math.IsInf(f, 1) {
		return "e^" + Spent(eps)
	}
	return Spent(f)
}

// Sentence begins with a capital letter and ends with a full stop.
func Sentence(s string) string {
	if s == "" {
		return ""
	}
	if first := s[0]; 'a' <= first && first <= 'z' { // not σ
		s = string(first-'a'+'A') + s[1:]
	}
	return stop(s)
}

// stop ends a text with a full stop.
func stop(s string) string { return strings.TrimSuffix(s, ".") + "." }

// percent prints a share of 1.
func percent(x float64) string { return trim(100*x) + " %" }

// trim prints a figure that is not charged with three significant digits.
func trim(x float64) string { return plain(x, 3) }

// plain prints a number with so many significant digits, without an exponent
// where people do not use one.
func plain(x float64, significant int) string {
	if a := math.Abs(x); x != 0 && (a < 1e-4 || a >= 1e15) || math.IsNaN(x) || math.IsInf(x, 0) {
		return short(strconv.FormatFloat(x, 'g', significant, 64))
	}
	decimals := significant
	if x != 0 {
		decimals = significant - 1 - int(math.Floor(math.Log10(math.Abs(x))))
	}
	text := strconv.FormatFloat(x, 'f', max(decimals, 0), 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// grouped prints a count with thin spaces between the thousands.
func grouped(n int64) string { return inThrees(strconv.FormatInt(n, 10), 4) }

// Rounded prints a released value with the digits that its noise leaves meaningful: the
// noise keeps two of them. Where the noise is not known there are four.
func Rounded(x, noise float64) string {
	if text := meaningful(x, noise); text != "" {
		return thousands(text)
	}
	return thousands(plain(x, 4))
}

// meaningful writes a number with the digits that its noise leaves meaningful, "" where the noise is not known or far below
// eight digits behind the point.
func meaningful(x, noise float64) string {
	if !(noise > 0) || math.IsInf(noise, 0) {
		return ""
	}
	decimals := 1 - int(math.Floor(math.Log10(noise)))
	if decimals < 0 {
		step := math.Pow10(-decimals)
		return strconv.FormatFloat(math.Round(x/step)*step, 'f', 0, 64)
	}
	if decimals > 8 {
		return ""
	}
	text := strconv.FormatFloat(x, 'f', decimals, 64)
	if strings.Trim(text, "-0.") == "" {
		return strings.TrimPrefix(text, "-")
	}
	return text
}

// thousands puts thin spaces into the whole part of a number of five digits or more.
func thousands(text string) string {
	if strings.Contains(text, "e") {
		return inThrees(text, math.MaxInt)
	}
	return inThrees(text, 5)
}

// inThrees puts thin spaces into the whole part of a number that has at least so many digits.
func inThrees(text string, least int) string {
	text, negative := strings.CutPrefix(text, "-")
	whole, part, fraction := strings.Cut(text, ".")
	if digits := len(whole); digits >= least {
		for i := digits - 3; i > 0; i -= 3 {
			whole = whole[:i] + "\u202f" + whole[i:]
		}
	}
	if fraction {
		whole += "." + part
	}
	if negative {
		return "−" + whole
	}
	return whole
}

// brief prints a number for a narrow cell: 12k and 3.4M.
func brief(x float64) string { return briefly{}.label(x) }

// briefly prints numbers for an axis, with so many digits that no two marks look alike.
type briefly struct{ digits int }

func (b briefly) label(x float64) string {
	n := max(b.digits, 3)
	switch a := math.Abs(x); {
	case a >= 9.9995e8:
		return plain(x/1e9, n) + "G"
	case a >= 9.9995e5:
		return plain(x/1e6, n) + "M"
	case a >= 9999.5:
		return plain(x/1e3, n) + "k"
	}
	return plain(x, n)
}

// between chooses the digits for the marks of an axis from lo to hi.
func (b briefly) between(lo, hi float64) briefly {
	for b.digits = 3; b.digits < 12; b.digits++ {
		seen := map[string]bool{}
		ticks := figure.Even(b.label).Ticks(lo, hi)
		for _, t := range ticks {
			seen[t.Label] = true
		}
		if len(seen) == len(ticks) {
			break
		}
	}
	return b
}

// Ticks are the labelled numbers inside [lo, hi].
func (b briefly) Ticks(lo, hi float64) []figure.Tick {
	return figure.Even(b.between(lo, hi).label).Ticks(lo, hi)
}

// raised is ^x or ^(…) of a formula, with one level of brackets inside.
var raised = regexp.MustCompile(`\^(?:\(((?:[^()]|\([^()]*\))*)\)|([\pL\pN′]+))`)

// maths sets a formula's powers high.
func maths(s string) template.HTML {
	if strings.HasPrefix(s, "the ") {
		s = "T" + s[1:]
	}
	s = html.EscapeString(s)
	return template.HTML(raised.ReplaceAllString(s, "<sup>$1$2</sup>")) //nolint:gosec // escaped above
}
