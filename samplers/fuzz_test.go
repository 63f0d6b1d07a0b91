package samplers

import (
	"strings"
	"testing"
)

// A frame file is read whole or refused; what is read is found again.
func FuzzReadFrame(f *testing.F) {
	f.Add("county,district,schools\n1,2,3\n1,3,0\n")
	f.Add("\ufeffdistrict,county,schools,more\r\n\"a\nb\",,7,x\r\n")
	f.Add("county,district,schools\n1,2,9223372036854775807\n1,2,1\n")
	f.Add("county,district,schools\n\"1,2,3\n")
	f.Fuzz(func(t *testing.T, text string) {
		frame, err := ReadFrame(strings.NewReader(text), []string{"county", "district"}, "schools")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "frame: ") {
				t.Errorf("error without its place: %v", err)
			}
			return
		}
		var records int64
		for u := range int32(frame.Len()) {
			unit := frame.Unit(u)
			records += unit.Records
			if unit.Records < 0 || frame.UnitOf(unit.Key...) != u {
				t.Errorf("unit %d of the frame is not found again", u)
			}
		}
		if records != frame.Records() || frame.Len() == 0 {
			t.Errorf("%d units with %d records", frame.Len(), frame.Records())
		}
		d, err := NewMultistage(frame, []Stage{{Unit: "county", Take: 1}, {Unit: "district", All: true}, {Take: 1}})
		if err == nil && (d.Facts().MinWeight < 1 || d.Facts().LargestCount < 1) {
			t.Errorf("facts %+v", d.Facts())
		}
	})
}

// A rate is in (0, 1], or refused; its bounds enclose it.
func FuzzParseRate(f *testing.F) {
	for _, s := range []string{"0.2", "1/3", "1e-3", "1", "0", "2/1", "1e-99", "0.99999999999999999999", ".1e-9", "9/18446744073709551615"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRate(text)
		if err != nil {
			return
		}
		num, den := r.Fraction()
		if num == 0 || num > den || r.Float() <= 0 || r.Float() > 1 || r.Upper() < r.Float() || r.Upper() > 1 {
			t.Errorf("%q is %v: %g, %g", text, r, r.Float(), r.Upper())
		}
		again, err := ParseRate(r.String())
		if err != nil || again != r {
			t.Errorf("%q is %v, and that is %v, %v", text, r, again, err)
		}
		if _, err := NewPoisson(r, 0); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	})
}
