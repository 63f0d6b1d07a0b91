package rows

import (
	"math"

	"github.com/dprelease/dprelease/internal/rows/formula"
)

// floor returns x / y, rounded down.
func floor(x, y int64) int64 {
	q := x / y
	if x%y < 0 {
		q--
	}
	return q
}

// midnights turns days into moments. A day beyond all moments becomes missing.
func midnights(x []int64) {
	for i, d := range x {
		if d > math.MaxInt64/microsPerDay || d < math.MinInt64/microsPerDay {
			x[i] = none
		} else {
			x[i] = d * microsPerDay
		}
	}
}

// days turns moments into days.
func days(x []int64) {
	for i, m := range x {
		if m != none {
			x[i] = floor(m, microsPerDay)
		}
	}
}

// micros converts times to microseconds. per is how many of their units make a second.
func micros(dst, x []int64, per int64) {
	if per > 1e6 {
		for i, v := range x {
			dst[i] = floor(v, per/1e6)
		}
		return
	}
	by := 1e6 / per
	for i, v := range x {
		if v > math.MaxInt64/by || v < math.MinInt64/by {
			dst[i] = none
		} else {
			dst[i] = v * by
		}
	}
}

// civil returns the date of a day in the proleptic Gregorian calendar, by Howard Hinnant's algorithm civil_from_days: a
// year begins in March, and 400 years are an era. It counts from an era before all days.
func civil(day int64) (year, month, dayOfMonth int64) {
	const era, before = 146097, 1 << 20
	n := uint64(day + 719468 + before*era)
	of := n % era
	yearOfEra := (of - of/1460 + of/36524 - of/146096) / 365
	dayOfYear := of - (365*yearOfEra + yearOfEra/4 - yearOfEra/100)
	m := (5*dayOfYear + 2) / 153 // 0 is March
	dayOfMonth = int64(dayOfYear - (153*m+2)/5 + 1)
	year, month = int64(n/era)*400-before*400+int64(yearOfEra), int64(m)+3
	if m >= 10 {
		year, month = year+1, month-12
	}
	return year, month, dayOfMonth
}

// part returns the function that takes a part of a day, or for Hour of a moment.
func part(op formula.Op) func(x int64) float64 {
	switch op {
	case formula.Year:
		return func(x int64) float64 { y, _, _ := civil(x); return float64(y) }
	case formula.Month:
		return func(x int64) float64 { _, m, _ := civil(x); return float64(m) }
	case formula.Day:
		return func(x int64) float64 { _, _, d := civil(x); return float64(d) }
	case formula.Weekday: // 1970-01-01 was a Thursday, day 4
		return func(x int64) float64 { return float64(x+3-7*floor(x+3, 7)) + 1 }
	case formula.Hour:
		return func(x int64) float64 { return float64((x - microsPerDay*floor(x, microsPerDay)) / 3600e6) }
	}
	panic("rows: no part of a date")
}
