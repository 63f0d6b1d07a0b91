package table

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// bodies marks the bytes of the messages' bodies, which hold values.
func bodies(t *testing.T, data []byte, stream bool) []bool {
	t.Helper()
	inside := make([]bool, len(data))
	off, end := int64(0), int64(len(data))
	if !stream {
		off, end = 8, end-10-int64(binary.LittleEndian.Uint32(data[len(data)-10:]))
	}
	path := temp(t, "x", data)
	f := must(os.Open(path))
	defer f.Close()
	for {
		if off == end {
			return inside
		}
		m, ok, err := readMessage(f, off, end)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return inside
		}
		for i := m.body; i < m.end; i++ {
			inside[i] = true
		}
		off = m.end
	}
}

// TestEveryBitOfArrowMetadata changes every bit of a file that describes values. Arrow has no checksums: whatever is
// not noticed must make no difference. A stream states its schema once, so there its first message is believed.
func TestEveryBitOfArrowMetadata(t *testing.T) {
	for i, s := range []arrowStyle{
		{codec: "none", nulls: 0.2, batches: []int{9, 3}, every: 7}, {codec: "none", nulls: 0.2, batches: []int{30, 13}, every: 2}, {codec: "none", batches: []int{30}, every: 5},
		{codec: "zstd", nulls: 0.2, batches: []int{30}, every: 3}, {stream: true, codec: "none", nulls: 0.2, batches: []int{30, 13}, every: 3},
	} {
		t.Run(s.String(), func(t *testing.T) {
			data, want := writeArrow(t, s)
			n := total(s.batches)
			inside := bodies(t, data, s.stream)
			first := 0
			if s.stream {
				first = 8 + int(binary.LittleEndian.Uint32(data[4:])) // behind the schema
			}
			path := filepath.Join(t.TempDir(), "x")
			step, stride := 7, 1 // of larger files, every seventh bit
			switch {
			case testing.Short():
				stride = 23
			case i == 0:
				step = 1
			}
			survived, changes, bad := 0, 0, 0
			for at := first; at < len(data); at += stride {
				if inside[at] {
					continue
				}
				for bit := at % step; bit < 8; bit += step {
					changes++
					damaged := append([]byte(nil), data...)
					damaged[at] ^= 1 << bit
					if err := os.WriteFile(path, damaged, 0o600); err != nil {
						t.Fatal(err)
					}
					ok, err := scanExact(path, want, n)
					if ok {
						survived++
					}
					if err != nil {
						if bad++; bad < 10 {
							t.Errorf("bit %d of byte %d: %v", bit, at, err)
						}
					}
				}
			}
			t.Logf("%d of %d changes made no difference, %d are wrong", survived, changes, bad)
			if survived == 0 {
				t.Error("nothing survived: the file was not valid to begin with")
			}
		})
	}
}
