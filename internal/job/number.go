package job

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/dprelease/dprelease/internal/lang"
)

// span is the range of a number; an empty end is open-ended.
type span struct {
	lo, hi         string
	loOpen, hiOpen bool
}

// String writes the span as a condition.
func (s span) String() string {
	var parts []string
	if s.lo != "" {
		parts = append(parts, map[bool]string{true: "greater than ", false: "at least "}[s.loOpen]+s.lo)
	}
	if s.hi != "" {
		parts = append(parts, map[bool]string{true: "less than ", false: "at most "}[s.hiOpen]+s.hi)
	}
	return strings.Join(parts, " and ")
}

func (s span) holds(r *big.Rat) bool {
	if s.lo != "" {
		if d := r.Cmp(mustRat(s.lo)); d < 0 || d == 0 && s.loOpen {
			return false
		}
	}
	if s.hi != "" {
		if d := r.Cmp(mustRat(s.hi)); d > 0 || d == 0 && s.hiOpen {
			return false
		}
	}
	return true
}

func (s span) schema(typ string) schema {
	out := schema{"type": typ}
	if s.lo != "" {
		out[map[bool]string{true: "exclusiveMinimum", false: "minimum"}[s.loOpen]] = rawNumber(s.lo)
	}
	if s.hi != "" {
		out[map[bool]string{true: "exclusiveMaximum", false: "maximum"}[s.hiOpen]] = rawNumber(s.hi)
	}
	return out
}

// mustRat reads a number of a declaration; TestDeclarations reads them all.
func mustRat(text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return new(big.Rat)
	}
	return r
}

// amount is an exact decimal number, quoted or not.
func amount(s span) kind[*big.Rat] {
	label := "number"
	if c := s.String(); c != "" {
		label += " " + c
	}
	forms := schema{"anyOf": []schema{s.schema("number"), {"type": "string", "pattern": amountPattern}}}
	return scalar(label, forms, func(t string) (*big.Rat, error) {
		r, err := ParseAmount(t)
		if err != nil {
			return nil, err
		}
		if !s.holds(r) {
			return nil, fmt.Errorf("must be %s, not %s", s, lang.Shown(t))
		}
		return r, nil
	})
}

// count is a whole number of at least min.
func count(min string) kind[int64] {
	s := span{lo: min, hi: "9007199254740992"} // 2^53: exact in every reader of JSON
	return scalar("whole number, at least "+min, s.schema("integer"), func(t string) (int64, error) {
		r, err := ParseAmount(t)
		if err != nil || !r.IsInt() {
			return 0, fmt.Errorf("must be a whole number, not %s", lang.Shown(t))
		}
		switch {
		case !(span{lo: s.lo}).holds(r):
			return 0, fmt.Errorf("must be at least %s, not %s", s.lo, lang.Shown(t))
		case !s.holds(r):
			return 0, fmt.Errorf("must be at most 2^53, not %s", lang.Shown(t))
		}
		return r.Num().Int64(), nil
	})
}
