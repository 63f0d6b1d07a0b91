package units

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/dprelease/dprelease/internal/data/unlinked"
	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/rows/keys"
	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// What was spilled is merged to the same numbers, each key comes once, and nothing is left on the disk.
func TestCounter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 25))
	for _, memory := range []int64{0, 500, 20_000} {
		dir := t.TempDir()
		c := NewCounter(memory, dir)
		want := map[string]int64{}
		for range tier.Of(8_000, 20_000) {
			key := fmt.Sprint(r.IntN(3000))
			if r.IntN(50) == 0 {
				key = string([]byte{0, 0xff, byte(r.IntN(3))})
			}
			n := int64(1 + r.IntN(3))
			want[key] += n
			if err := c.Add(key, n); err != nil {
				t.Fatal(err)
			}
		}
		got := map[string]int64{}
		err := c.Counts(func(key string, units int64) error {
			if _, twice := got[key]; twice {
				t.Errorf("%q comes twice", key)
			}
			got[key] = units
			return nil
		})
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("memory %d: %d keys, want %d: %v", memory, len(got), len(want), err)
		}
		if memory == 500 && c.spills < 10 {
			t.Errorf("%d times on the disk", c.spills)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
			t.Errorf("%v is left on the disk: %v", left, err)
		}
		c.Close()
	}
}

// A million keys, of which memory holds a tenth: those that many units have are selected, and hardly another one.
func TestMillionKeys(t *testing.T) {
	g, err := keys.NewGeometric(1, 1e-7, 1)
	if err != nil {
		t.Fatal(err)
	}
	const many = 1_000_000
	c := NewCounter(many/10*(entryBytes+8), t.TempDir())
	defer c.Close()
	for round := range 2 {
		for i := range many {
			if round == 0 || i%(many/100) == 0 {
				if err := c.Add(strconv.Itoa(i), int64(1+40*round)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	s, err := keys.Select(t.Context(), c.Counts, g, 1000, must(noise.NewSource()))
	// A key of one unit is kept once in ten million: more than six of a million in less than one run in ten million.
	if err != nil || len(s.Keys) < 100 || len(s.Keys) > 106 || c.spills < 9 {
		t.Fatal(len(s.Keys), c.spills, err)
	}
}

func TestCounterStops(t *testing.T) {
	c := NewCounter(1, t.TempDir()+"/none")
	if err := c.Add("a", 1); !errors.Is(err, unlinked.ErrUnusable) {
		t.Error(err)
	}
	mine := errors.New("mine")
	for _, memory := range []int64{0, 100} {
		c := NewCounter(memory, t.TempDir())
		for i := range 100 {
			if err := c.Add(fmt.Sprint(i), 1); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Counts(func(string, int64) error { return mine }); !errors.Is(err, mine) {
			t.Error(err)
		}
		c.Close()
	}
}
