package builtin

import "testing"

// A word stands for one mechanism, and is not the name of another.
func TestWordsDiffer(t *testing.T) {
	mechanisms, seen := Mechanisms(), map[string]string{}
	if len(Served()) != len(mechanisms) || len(mechanisms) != len(all) {
		t.Fatalf("%d are served, %d have a name, %d are listed", len(Served()), len(mechanisms), len(all))
	}
	for name, words := range Words() {
		for _, w := range words {
			if other, twice := seen[w]; twice || mechanisms[w] != nil {
				t.Errorf("%s is a word for %s and for %s", w, name, other)
			}
			seen[w] = name
		}
	}
	if seen["average"] != "mean" || seen["share"] != "proportion" {
		t.Errorf("average is %q, share is %q", seen["average"], seen["share"])
	}
}
