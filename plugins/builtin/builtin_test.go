package builtin

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/plugins/sdk"
)

var update = flag.Bool("update", false, "write internal/command/builtin.json")

// Programs that do not serve the mechanisms know them as they are: internal/command/builtin.json holds their descriptions in the order
// of their names, with other words for them.
func TestStored(t *testing.T) {
	type described struct {
		sdk.Description
		Words []string
	}
	var out []described
	for _, m := range all {
		out = append(out, described{m.Describe(), strings.Fields(m.words)})
	}
	slices.SortFunc(out, func(a, b described) int { return strings.Compare(a.Name, b.Name) })
	got, err := json.MarshalIndent(out, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	const path = "../../internal/command/builtin.json"
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
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
