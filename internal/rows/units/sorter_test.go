package units

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Whatever fits in memory, the rows of a part come back in their order, and no more of them are held than the limit says.
func TestSorter(t *testing.T) {
	for _, memory := range []int64{0, 100, 30_000, math.MaxInt64} {
		r := rand.New(rand.NewPCG(3, 4))
		const parts, width = 7, 3
		s, want := NewSorter(parts, memory, t.TempDir()), make([][]uint32, parts)
		for i := range uint32(20_000) {
			part := r.IntN(parts - 1) // the last one is empty
			row := []uint32{i, r.Uint32(), uint32(part)}
			want[part] = append(want[part], row...)
			if err := s.Add(part, row...); err != nil || s.held > memory {
				t.Fatal(s.held, err)
			}
		}
		if (s.disk != nil) != (memory < math.MaxInt64) {
			t.Errorf("memory %d has the wrong path", memory)
		}
		for part := range want {
			var got []uint32
			err := s.Each(part, func(rows []uint32) error {
				if len(rows)%width != 0 {
					return fmt.Errorf("a row of %d words is cut", len(rows)%width)
				}
				got = append(got, rows...)
				return nil
			})
			if err != nil || !slices.Equal(got, want[part]) {
				t.Errorf("memory %d, part %d: %d words, want %d; %v", memory, part, len(got), len(want[part]), err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
