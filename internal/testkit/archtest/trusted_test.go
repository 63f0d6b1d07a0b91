package archtest

import (
	_ "embed"
	"slices"
	"strings"
	"testing"
)

// trusted lists the packages of the trusted base.
//
//go:embed trusted.txt
var trusted string

type lead struct{ from, to string }

// parseTrusted reads the lines "base FOLDER" and "base FOLDER/...".
func parseTrusted(t *testing.T, text string) (base []string) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		dir, isBase := strings.CutPrefix(line, "base ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case isBase:
			base = append(base, dir)
		default:
			t.Fatalf("trusted.txt: unknown line %q", line)
		}
	}
	if len(base) == 0 {
		t.Fatal("trusted.txt names no package")
	}
	return base
}

func inBase(name string, base []string) bool {
	return slices.ContainsFunc(base, func(b string) bool {
		root, below := strings.CutSuffix(b, "/...")
		return name == root || below && strings.HasPrefix(name, root+"/")
	})
}

// An auditor reads the packages that hold rows, draw noise, charge or remember. An import that leads out of them
// would add to what has to be read.
func TestTrustedBaseLeadsNowhere(t *testing.T) {
	for l := range outward(packages(t), parseTrusted(t, trusted)) {
		t.Errorf("%s imports %s, which is outside of the trusted base", l.from, l.to)
	}
}

// outward returns the imports of the module's own packages that leave the base.
func outward(all []pkg, base []string) map[lead]bool {
	found := map[lead]bool{}
	for _, p := range all {
		if !inBase(p.name(), base) || strings.HasSuffix(p.name(), "test") {
			continue
		}
		for _, to := range p.Imports {
			if to, own := strings.CutPrefix(to, module); own && !inBase(to, base) {
				found[lead{p.name(), to}] = true
			}
		}
	}
	return found
}

// A package that is not of the base and is imported by it is found; one that only it imports is not.
func TestOutwardFindsAnImport(t *testing.T) {
	all := []pkg{
		{ImportPath: module + "ledger", Imports: []string{module + "privacy/expr", module + "report", "fmt"}},
		{ImportPath: module + "report", Imports: []string{module + "internal/say"}},
	}
	found := outward(all, []string{"ledger", "privacy/..."})
	if len(found) != 1 || !found[lead{"ledger", "report"}] {
		t.Errorf("found %v", found)
	}
}
