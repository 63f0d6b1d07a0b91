package run

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/data/table"
)

// tellingOf shows values to a telling.
func tellingOf(ordered bool, values ...byte) *telling {
	t := &telling{ordered: ordered}
	for _, v := range values {
		if !t.enough() {
			t.see([]byte{v})
		}
	}
	return t
}

// Columns count as equal rows only where they could hardly agree by chance, and a column of one value never does.
func TestTelling(t *testing.T) {
	distinct := []byte("abcdefghijklmnopqrstuvwxyz")
	for name, c := range map[string]struct {
		columns []*telling
		marked  int
	}{
		"no rows":                          {[]*telling{tellingOf(true)}, 0},
		"one row":                          {[]*telling{tellingOf(true, 'a')}, 0},
		"one value":                        {[]*telling{tellingOf(true, slices.Repeat([]byte("a"), 1000)...)}, 0},
		"five yes or no":                   {[]*telling{tellingOf(true, 0, 1, 0, 1, 0)}, 0},
		"one yes among many":               {[]*telling{tellingOf(true, append(slices.Repeat([]byte("n"), 500), 'y')...)}, 0},
		"many yes or no":                   {[]*telling{tellingOf(true, slices.Repeat([]byte("ny"), 11)...)}, 1},
		"eight numbers":                    {[]*telling{tellingOf(true, distinct[:8]...)}, 1},
		"six numbers":                      {[]*telling{tellingOf(true, distinct[:6]...)}, 0},
		"six numbers twice, and one value": {[]*telling{tellingOf(true, distinct[:6]...), tellingOf(true, 'a', 'a', 'a', 'a', 'a', 'a'), tellingOf(true, distinct[:6]...)}, 2},
		"without order, yes or no":         {[]*telling{tellingOf(false, slices.Repeat([]byte("ny"), 500)...)}, 0},
		"without order, many values":       {[]*telling{tellingOf(false, distinct...)}, 1},
	} {
		names := strings.Split("a b c", " ")[:len(c.columns)]
		got, err := identifying(names, c.columns, func(int) (table.Fingerprint, error) { return table.Fingerprint{}, nil })
		if err != nil || len(got) != c.marked {
			t.Errorf("%s: %d columns are marked, want %d: %v", name, len(got), c.marked, err)
		}
	}
}

// 200 slices of 41 fair coins are 19,900 pairs, each of which agrees with a chance of 2^-41: any pair does in fewer than one
// of a hundred million runs. About half of the slices have the 20 changes that mark them.
func TestTellingColumnsDiffer(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	seen, marked := map[string]bool{}, 0
	for range 200 {
		rows := make([]byte, 41)
		for i := range rows {
			rows[i] = byte(r.IntN(2))
		}
		if tellingOf(true, rows...).bits() < enoughBits {
			continue
		}
		marked++
		if seen[string(rows)] {
			t.Error("two slices agree by chance")
		}
		seen[string(rows)] = true
	}
	if marked < 50 {
		t.Errorf("only %d slices are marked", marked)
	}
}
