package main

import "testing"

func TestByteSize(t *testing.T) {
	for text, want := range map[string]int64{"1GB": 1 << 30, "512mb": 512 << 20, "3 KB": 3 << 10, "77": 77, "": 0, "0": 0, "-1MB": 0, "1.5GB": 0, "9999999999GB": 0, "GB": 0} {
		var b byteSize
		err := b.Set(text)
		if int64(b) != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, %v", text, b, err)
		}
		var again byteSize
		if want > 0 && (again.Set(b.String()) != nil || again != b) {
			t.Errorf("%q is written as %q", text, b.String())
		}
	}
}
