package table

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// Parse reads a text as a value of the column's kind, as Values.Int64 holds it: "2024-02-29", "2024-02-29T12:30:00",
// "12:30:00", "12.50", "true", "37". It returns false where the text is no such value, or one that the column's unit or
// scale cannot hold.
func (c *Column) Parse(text string) (int64, bool) {
	return parseKey(c.Kind, c.Scale, c.Unit, c.Unsigned, text)
}

// Parse is Column.Parse for the values of a batch.
func (v *Values) Parse(text string) (int64, bool) {
	return parseKey(v.Kind, v.Scale, v.Unit, v.Unsigned, text)
}

func parseKey(kind Kind, scale int, unit Unit, unsigned bool, text string) (int64, bool) {
	switch kind {
	case Int:
		if unsigned {
			n, err := strconv.ParseUint(text, 10, 64)
			return int64(n), err == nil && strconv.FormatUint(n, 10) == text
		}
		n, err := strconv.ParseInt(text, 10, 64)
		return n, err == nil && strconv.FormatInt(n, 10) == text
	case Bool:
		return map[string]int64{"true": 1}[text], text == "true" || text == "false"
	case Decimal:
		r, ok := new(big.Rat).SetString(text)
		if !ok || strings.ContainsAny(text, "/eEpPxX_") {
			return 0, false
		}
		r.Mul(r, new(big.Rat).SetInt(tenTo(scale)))
		return r.Num().Int64(), r.IsInt() && r.Num().IsInt64()
	case Date:
		t, err := time.Parse(time.DateOnly, text)
		return t.Unix() / 86400, err == nil
	case Time:
		t, err := time.Parse("15:04:05", text)
		midnight := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
		n, ok := inUnit(0, int64(t.Sub(midnight)), unit)
		return n, err == nil && ok
	case Timestamp:
		for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", time.DateTime, time.DateOnly} {
			if t, err := time.Parse(layout, text); err == nil {
				return inUnit(t.Unix(), int64(t.Nanosecond()), unit)
			}
		}
	}
	return 0, false
}

// inUnit adds up seconds and nanoseconds; false where the unit cannot say them.
func inUnit(seconds, nanos int64, unit Unit) (int64, bool) {
	per := map[Unit]int64{Second: 1, Millisecond: 1e3, Microsecond: 1e6, Nanosecond: 1e9}[unit]
	if per == 0 || nanos%(1e9/per) != 0 || seconds > math.MaxInt64/per-1 || seconds < math.MinInt64/per+1 {
		return 0, false
	}
	return seconds*per + nanos/(1e9/per), true
}
