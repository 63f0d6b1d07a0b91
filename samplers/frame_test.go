package samplers

import (
	"strings"
	"testing"
)

func TestReadFrame(t *testing.T) {
	const text = "\ufeffcounty,schools,district,note\n1,10,2,x\n1,20, 2,y\n12,5,,z\n"
	f, err := ReadFrame(strings.NewReader(text), []string{"county", "district"}, "schools")
	if err != nil {
		t.Fatal(err)
	}
	if f.Len() != 3 || f.Records() != 35 || f.UnitOf("1", " 2") != 1 || f.UnitOf("12", "") != 2 ||
		f.UnitOf("1", "22") != -1 || f.UnitOf("1") != -1 || f.Unit(1).Records != 20 {
		t.Errorf("frame %+v", f)
	}
	for name, text := range map[string]string{
		"empty":          "",
		"no units":       "county,district,schools\n",
		"no column":      "county,schools\n1,2\n",
		"column twice":   "county,district,schools,county\n1,2,3,4\n",
		"not a number":   "county,district,schools\n1,2,many\n",
		"a fraction":     "county,district,schools\n1,2,1.5\n",
		"negative":       "county,district,schools\n1,2,-1\n",
		"unit twice":     "county,district,schools\n1,2,3\n1,2,3\n",
		"ragged":         "county,district,schools\n1,2\n",
		"too many":       "county,district,schools\n1,2,9223372036854775807\n1,3,1\n",
		"beyond 64 bits": "county,district,schools\n1,2,9223372036854775808\n",
		"private number": "county,district,schools\n1,2,31337.5\n",
		"private unit":   "county,district,schools\n1,31337,3\n1,31337,3\n",
		"private county": "county,district,schools\n1,31337,-3\n",
	} {
		_, err := ReadFrame(strings.NewReader(text), []string{"county", "district"}, "schools")
		if err == nil || !strings.HasPrefix(err.Error(), "frame: ") {
			t.Errorf("%s: %v", name, err)
		} else if strings.Contains(err.Error(), "31337") {
			t.Errorf("%s: what stands in a file that may be the wrong one is repeated: %v", name, err)
		}
	}
}

func TestNewFrameRefuses(t *testing.T) {
	unit := []Unit{{Key: []string{"a"}, Records: 1}}
	for _, columns := range [][]string{nil, {""}, {"x", "x"}, {"x", "y"}} {
		if _, err := NewFrame(columns, unit); err == nil {
			t.Errorf("columns %q are accepted", columns)
		}
	}
	if _, err := NewFrame([]string{"x"}, nil); err == nil {
		t.Error("a frame without units is accepted")
	}
}

// Tuples that look alike when joined are different units.
func TestKeysDoNotCollide(t *testing.T) {
	f, err := NewFrame([]string{"x", "y"}, []Unit{
		{[]string{"a", "b"}, 1}, {[]string{"ab", ""}, 1}, {[]string{"", "ab"}, 1},
		{[]string{"1:a", "b"}, 1}, {[]string{"a1", ":b"}, 1}, {[]string{"a\x00", "b"}, 1}, {[]string{"a", "\x00b"}, 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	for u := range int32(f.Len()) {
		if got := f.UnitOf(f.Unit(u).Key...); got != u {
			t.Errorf("unit %d is found as %d", u, got)
		}
	}
}
