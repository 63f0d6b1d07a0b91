package host

import (
	"io"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckHandshake(t *testing.T) {
	for line, ok := range map[string]bool{
		"1|1|unix|/d/s|grpc|":         true,
		"1|1|unix|/d/s|grpc":          true,
		"1|1|unix|/d/s|grpc||false\n": true,
		"1|1|unix|/d/s|grpc||false|x": false,
		"1|1|unix|/d/s":               false,
		"1|1|unix|/d|grpc|":           false,
		"1|1|unix|/d/|grpc|":          false,
		"1|1|unix|/d/../e/s|grpc|":    false,
		"1|1|unix|/d/./s|grpc|":       false,
		"1|1|unix|/d/a/s|grpc|":       false,
		"1|1|unix|s|grpc|":            false,
		"1|1|unix|@s|grpc|":           false,
		"1|1|unixgram|/d/s|grpc|":     false,
		"1|1|tcp|/d/s|grpc|":          false,
		"1|1|unix|/d/s|netrpc|":       false,
		"1|1|unix|/d/s||":             false,
		"1|1|unix|/d/s|grpc|cert":     false,
		"01|1|unix|/d/s|grpc|":        false,
		"1|2|unix|/d/s|grpc|":         false,
		"1|0|unix|/d/s|grpc|":         false,
		"1|01|unix|/d/s|grpc|":        false,
		"":                            false,
	} {
		got, err := CheckHandshake(line, "/d")
		if (err == nil) != ok || ok && got != "/d/s" {
			t.Errorf("%q: %q, %v", line, got, err)
		}
	}
}

// FuzzHandshake: whatever a plugin prints, no socket outside the directory comes of
// it, the bad case is told exactly once, and everything is drained.
func FuzzHandshake(f *testing.F) {
	f.Add("1|1|unix|/d/s|grpc|\nmore")
	f.Add("1|1|tcp|127.0.0.1:1|grpc|\n")
	f.Add(strings.Repeat("x", 2*maxHandshake) + "\n")
	f.Add("1|1|unix|/d/\x00|grpc|\n")
	f.Fuzz(func(t *testing.T, out string) {
		r := strings.NewReader(out)
		good, bad := 0, 0
		readHandshake(r, "/d", io.Discard, func(line, socket string) {
			good++
			if filepath.Dir(socket) != "/d" || len(line) > maxHandshake {
				t.Errorf("accepted %q", socket)
			}
		}, func(bool) { bad++ })
		if good+bad != 1 || r.Len() > 0 {
			t.Errorf("%d good, %d bad, %d bytes left", good, bad, r.Len())
		}
	})
}
