package archtest

import (
	_ "embed"
	"slices"
	"strings"
	"testing"
)

// trusted lists the packages of the trusted base and the imports that still lead out of it.
//
//go:embed trusted.txt
var trusted string

type lead struct{ from, to string }

// parseTrusted reads the lines "base FOLDER", "base FOLDER/..." and "import FOLDER -> FOLDER".
func parseTrusted(t *testing.T, text string) (base []string, leads map[lead]bool) {
	t.Helper()
	leads = map[lead]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		dir, isBase := strings.CutPrefix(line, "base ")
		arrow, isImport := strings.CutPrefix(line, "import ")
		from, to, both := strings.Cut(arrow, " -> ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case isBase:
			base = append(base, dir)
		case isImport && both:
			leads[lead{from, to}] = true
		default:
			t.Fatalf("trusted.txt: unknown line %q", line)
		}
	}
	if len(base) == 0 {
		t.Fatal("trusted.txt names no package")
	}
	return base, leads
}

func inBase(name string, base []string) bool {
	return slices.ContainsFunc(base, func(b string) bool {
		root, below := strings.CutSuffix(b, "/...")
		return name == root || below && strings.HasPrefix(name, root+"/")
	})
}

// An auditor reads the packages that hold rows, draw noise, charge or remember. Each import that leads out of them
// adds to what has to be read, so the list may only get shorter.
func TestTrustedBaseLeadsOutOnlyAsListed(t *testing.T) {
	base, leads := parseTrusted(t, trusted)
	found := outward(packages(t), base)
	for l := range found {
		if !leads[l] {
			t.Errorf("%s imports %s, which is outside of the trusted base: the list in trusted.txt may only get shorter", l.from, l.to)
		}
	}
	for l := range leads {
		if !found[l] {
			t.Errorf("%s no longer imports %s: take the line out of trusted.txt", l.from, l.to)
		}
	}
	t.Logf("%d imports lead out of the trusted base", len(found))
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
