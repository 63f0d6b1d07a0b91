package ledger

import (
	"math/big"
	"strings"
	"time"
)

// SliceKind is the type of the values in the column of an account's slices. The same bytes read
// in two ways would be cut in two ways, and each unit be paid for out of several limits (P26).
// So an account keeps the kind of its first debit, and after a comma how its file writes such values where the job says it.
// "" stands for a kind that is not known yet.
type SliceKind string

// The kinds. Integers, decimals and other numbers are one kind, and so are dates and
// timestamps, because a value has the same spelling in each.
const (
	TextSlices   SliceKind = "text"
	NumberSlices SliceKind = "number"
	BoolSlices   SliceKind = "bool"
	DateSlices   SliceKind = "date"
	TimeSlices   SliceKind = "time"
)

// spelled returns the one spelling of all texts that may name one value, whatever the kind:
// 1, 1.0 and 1e0, or 2026-10-01 and 2026-10-01T02:00:00+02:00. The first character is the
// kind's. Two texts of different values may share one: the sum is then of both, and too large.
//
// # Contract
//
// If a column of any kind but text can hold one value for two texts, both have one spelling.
// Proof: slices.proof.md.
func spelled(is string) string {
	if r, ok := numberOf(is); ok {
		return "#" + r.RatString()
	}
	switch {
	case len(is) >= len(time.DateOnly) && is[4] == '-' && is[7] == '-':
		for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", time.DateTime, time.DateOnly} {
			if at, err := time.Parse(layout, is); err == nil {
				return "@" + at.UTC().Format(time.RFC3339Nano)
			}
		}
	case len(is) < 20 && strings.Contains(is, ":"):
		if at, err := time.Parse("15:04:05", is); err == nil {
			return ":" + at.Format("15:04:05.999999999")
		}
	}
	if is == "true" || is == "false" {
		return "?" + is
	}
	return "=" + is
}

// numberOf reads a decimal number. The bounds on its length keep it from asking for memory.
func numberOf(text string) (*big.Rat, bool) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	if len(mantissa) > 100 || len(exponent) > 4 || strings.Trim(mantissa, "+-.0123456789") != "" ||
		strings.Trim(exponent, "+-0123456789") != "" {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

// suits refuses a text that cannot name a slice of the kind.
func (k SliceKind) suits(is string) error {
	kind, _, _ := strings.Cut(string(k), ", ")
	if first, ok := map[SliceKind]string{NumberSlices: "#", BoolSlices: "?", DateSlices: "@", TimeSlices: ":"}[SliceKind(kind)]; ok &&
		!strings.HasPrefix(spelled(is), first) {
		return refuse(CodeAccount, "the slices of the account are values of the kind %s, and %q is none", k, is)
	}
	return nil
}

// admitKind refuses a debit of a slice whose column was read otherwise than before (P26).
//
// # Contract
//
// All debits of an account with slices read their column as one kind, so a row lies in one
// slice of the account. Proof: slices.proof.md.
func (a *Account) admitKind(k SliceKind) error {
	switch {
	case a.Slice.Column == "":
		return nil
	case k == "":
		return refuse(CodeAccount, "the kind of the column %s is not known", a.Slice.Column)
	case a.SliceKind != "" && a.SliceKind != k:
		return refuse(CodeAccount, "this job reads the column %s as %s, and the account of %s was charged for slices by %s read as %s: "+
			"a row could be in two slices, and each has its own limit; give the column the type that it had (dataset.columns), "+
			"or leave type out as before, and write the file as before (dataset.source)",
			a.Slice.Column, k, a.Key.account(), a.Slice.Column, a.SliceKind)
	}
	return k.suits(a.Slice.Is)
}
