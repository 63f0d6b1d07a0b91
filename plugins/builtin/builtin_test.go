package builtin

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// Programs that do not serve the mechanisms know them as they are.
func TestStored(t *testing.T) {
	got, err := Stored()
	if err != nil {
		t.Fatal(err)
	}
	if want, err := os.ReadFile("../../internal/command/builtin.json"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("internal/command/builtin.json is old; run make generate (%v)", err)
	}
}

// A word stands for one mechanism, and is not the name of another.
func TestWordsDiffer(t *testing.T) {
	mechanisms, seen := Mechanisms(), map[string]string{}
	if len(Served()) != len(mechanisms) || len(mechanisms) != len(all) {
		t.Fatalf("%d are served, %d have a name, %d are listed", len(Served()), len(mechanisms), len(all))
	}
	for _, m := range all {
		name := m.Describe().Name
		for _, w := range strings.Fields(m.words) {
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
