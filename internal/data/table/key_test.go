package table

import (
	"math"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		column Column
		text   string
		want   int64
		ok     bool
	}{
		{Column{Kind: Int}, "-12", -12, true},
		{Column{Kind: Int}, "012", 0, false},
		{Column{Kind: Int}, "18446744073709551615", 0, false},
		{Column{Kind: Int, Unsigned: true}, "18446744073709551615", -1, true},
		{Column{Kind: Int, Unsigned: true}, "-1", 0, false},
		{Column{Kind: Bool}, "true", 1, true},
		{Column{Kind: Bool}, "false", 0, true},
		{Column{Kind: Bool}, "1", 0, false},
		{Column{Kind: Decimal, Scale: 2}, "12.5", 1250, true},
		{Column{Kind: Decimal, Scale: 2}, "-0.01", -1, true},
		{Column{Kind: Decimal, Scale: 2}, "0.001", 0, false},
		{Column{Kind: Decimal, Scale: 2}, "1/2", 0, false},
		{Column{Kind: Decimal, Scale: 2}, "1e2", 0, false},
		{Column{Kind: Decimal, Scale: 18}, "10", 0, false},
		{Column{Kind: Date}, "1970-01-02", 1, true},
		{Column{Kind: Date}, "1969-12-31", -1, true},
		{Column{Kind: Date}, "1969-12-32", 0, false},
		{Column{Kind: Time, Unit: Millisecond}, "00:00:01.5", 1500, true},
		{Column{Kind: Time, Unit: Second}, "00:00:01.5", 0, false},
		{Column{Kind: Timestamp, Unit: Microsecond}, "1970-01-01T00:00:01.000001", 1_000_001, true},
		{Column{Kind: Timestamp, Unit: Second}, "1970-01-02", 86400, true},
		{Column{Kind: Timestamp, Unit: Nanosecond}, "1969-12-31 23:59:59", -1e9, true},
		{Column{Kind: Timestamp, Unit: Second}, "1970-01-01T01:00:00+01:00", 0, true},
		{Column{Kind: Timestamp, Unit: Nanosecond}, "2300-01-01", 0, false},
		{Column{Kind: String}, "x", 0, false},
		{Column{Kind: Int}, "9223372036854775807", math.MaxInt64, true},
	} {
		if got, ok := c.column.Parse(c.text); ok != c.ok || ok && got != c.want {
			t.Errorf("%v %q: %d, %v", c.column.Kind, c.text, got, ok)
		}
	}
}

// Whatever Format writes is read again by Parse, and values without a text have none.
func TestFormat(t *testing.T) {
	far := []int64{0, 1, -1, 37, -86400, 1_700_000_000, 1e15 + 1, math.MaxInt64, math.MinInt64}
	for _, v := range []Values{
		{Kind: Int}, {Kind: Int, Unsigned: true}, {Kind: Decimal, Scale: 0}, {Kind: Decimal, Scale: 5}, {Kind: Date},
		{Kind: Time, Unit: Millisecond}, {Kind: Time, Unit: Nanosecond}, {Kind: Timestamp, Unit: Second}, {Kind: Timestamp, Unit: Microsecond}, {Kind: Timestamp, Unit: Nanosecond},
	} {
		v.Int64 = far
		for i, n := range far {
			text, ok := v.Format(i)
			if back, known := v.Parse(text); ok && (!known || back != n) {
				t.Errorf("%v: %d is written as %q, which is %d", v.Kind, n, text, back)
			}
			if !ok && (v.Kind == Int || v.Kind == Decimal || n >= 0 && n < 100) {
				t.Errorf("%v: %d has no text", v.Kind, n)
			}
		}
	}
	for _, c := range []struct {
		v    Values
		want string
		ok   bool
	}{
		{Values{Kind: Date, Int64: []int64{-1}}, "1969-12-31", true},
		{Values{Kind: Bool, Int64: []int64{1}}, "true", true},
		{Values{Kind: Float, Float64: []float64{math.Copysign(0, -1)}}, "0", true},
		{Values{Kind: Float, Float64: []float64{-12}}, "-12", true},
		{Values{Kind: Float, Float64: []float64{.5}}, "", false},
		{Values{Kind: Float, Float64: []float64{math.NaN()}}, "", false},
		{Values{Kind: Float, Float64: []float64{math.Inf(1)}}, "", false},
		{Values{Kind: String, Codes: []int32{1}, Dict: []string{"a", "b"}}, "b", true},
		{Values{Kind: String, Codes: []int32{0}, Dict: []string{"a"}, Valid: []byte{0}}, "", false},
	} {
		if got, ok := c.v.Format(0); ok != c.ok || ok && got != c.want {
			t.Errorf("%+v is written as %q, %v", c.v, got, ok)
		}
	}
}
