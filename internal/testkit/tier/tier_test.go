package tier

import (
	"slices"
	"testing"
)

// The full tier leaves nothing out, and the fast tier takes the first case at least.
func TestTiers(t *testing.T) {
	all, want, count := []int{1, 2, 3, 4, 5}, []int{1, 2, 3, 4, 5}, 9
	if testing.Short() {
		want, count = []int{1, 4}, 2
	}
	if got := Some(all, 3); !slices.Equal(got, want) {
		t.Errorf("cases %v, want %v", got, want)
	}
	if got := Of(2, 9); got != count {
		t.Errorf("%d cases, want %d", got, count)
	}
	if got := Some([]int(nil), 3); len(got) > 0 {
		t.Errorf("cases %v of none", got)
	}
}
