package design

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/job/language"
)

// do carries out actions, given as NAME=VALUE, on a text.
func do(t *testing.T, text string, actions ...string) string {
	t.Helper()
	for _, a := range actions {
		name, value, _ := strings.Cut(a, "=")
		doc, err := parse(text)
		if err != nil {
			t.Fatal(err)
		}
		changes, err := Action{Name: name, Value: value}.changes(doc.Content[0])
		if err == nil {
			text, err = Edit(text, changes...)
		}
		if err != nil {
			t.Fatalf("%s: %v", a, err)
		}
	}
	return text
}

// Whatever a person chooses for the rows of a unit, the forms lead from a new job to one without a problem; changing
// one's mind leaves nothing of the first choice.
func TestFormsLeadToAJob(t *testing.T) {
	s := &Session{Path: filepath.Join(t.TempDir(), "visits.yaml"), Table: filepath.Join(t.TempDir(), "visits.csv"), Getenv: os.LookupEnv}
	fresh, seen, err := s.Start()
	if err != nil || seen != absent {
		t.Fatal(err)
	}
	common := []string{"set/dataset/relation=add-remove", "unit=patient", "use/region=category", "list/dataset/columns/region/domain=north, \"south, far\", east", "use/cost=number",
		"set/dataset/columns/cost/lower=0", "set/dataset/columns/cost/upper=1e3", "add=count", "by/0/0=region", "amount/releases/0/guarantee/epsilon=-100",
		"add=mean", "text/releases/1/params/column=cost", "set/releases/1/guarantee/epsilon=0.25", "text/releases/1/where=cost > 10"}
	for _, c := range []struct {
		way         string
		fold, limit bool // what the job then has
	}{
		{"rows=one", false, false}, {"rows=cap set/dataset/cap/rows=3", false, true}, {"rows=fold", true, false}, {"unit=", false, false},
		{"rows=cap rows=fold rows=one", false, false}, {"rows=fold rows=cap", false, true}, {"rows=cap unit=", false, false},
		{"rows=one kind/1=sum add=median text/releases/2/params/column=cost drop/releases/0 use/region=", false, false},
	} {
		way := strings.Fields(c.way)
		text := do(t, do(t, fresh, common...), way...)
		j, err := s.read(text)
		if err != nil {
			t.Errorf("%v: %v\n%s", way, err, text)
			continue
		}
		d := j.Dataset
		if d.Folds() != c.fold || (d.Cap != nil) != c.limit {
			t.Errorf("%v: fold %v, cap %v\n%s", way, d.Folds(), d.Cap, text)
		}
		if len(way) == 1 && (len(j.Releases) != 2 || j.Releases[0].Name == j.Releases[1].Name || d.Columns[0].Domain[1] != "south, far" || j.Releases[0].Guarantee.Epsilon.RatString() != "1/10") {
			t.Errorf("%v:\n%s", way, text)
		}
	}
}

// An action that the page does not have changes nothing.
func TestUnknownActions(t *testing.T) {
	doc, err := parse(complete)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []Action{{Name: ""}, {Name: "run"}, {Name: "set"}, {Name: "by/0"}, {Name: "by/0/-1", Value: "x"}, {Name: "rows", Value: "none"}, {Name: "amount/x", Value: "1e9"}, {Name: "amount/x", Value: "101"}} {
		if changes, err := a.changes(doc.Content[0]); err == nil {
			t.Errorf("%+v changes %v", a, changes)
		}
	}
}

// What a slider writes is where it stands when the page is made again.
func TestSliders(t *testing.T) {
	for at := lowest; at <= highest; at += 5 {
		text := amount(at)
		if got := slider(text); got < at-3 || got > at+3 {
			t.Errorf("%d writes %s, which stands at %d", at, text, got)
		}
		if x, err := language.ParseAmount(text); err != nil || x.Sign() <= 0 {
			t.Errorf("%d writes %q: %v", at, text, err)
		}
	}
	if amount(lowest) != "0.01" || amount(0) != "1" || amount(highest) != "10" {
		t.Errorf("from %s over %s to %s", amount(lowest), amount(0), amount(highest))
	}
}
