package design

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/language"
)

// A period is written into the condition and read back, and leaves the rest of it.
func TestPeriod(t *testing.T) {
	s, _ := session(t, "job.yaml", "")
	for _, c := range []struct{ where, from, to, want string }{
		{"", "2026-01-01", "", "day >= date('2026-01-01')"},
		{"", "2026-01-01", "2026-03-31", "day >= date('2026-01-01') && day <= date('2026-03-31')"},
		{"cost > 1", "", "2026-03-31", "cost > 1 && day <= date('2026-03-31')"},
		{"cost > 1 || cost < 0", "2026-01-01", "", "(cost > 1 || cost < 0) && day >= date('2026-01-01')"},
		{"cost > 1 && day >= date('2020-01-01') && day <= date('2020-02-01')", "", "", "cost > 1"},
		{"day >= date('2020-01-01')", "", "", ""},
	} {
		text, err := Edit(complete, Change{Path: []string{"releases", "0", "where"}, Value: written(c.where)})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range []Action{{Name: "day/0/from", Value: c.from}, {Name: "day/0/to", Value: c.to}} {
			doc, err := parse(text)
			if err != nil {
				t.Fatal(err)
			}
			changes, err := a.changes(doc.Content[0])
			if err == nil {
				text, err = Edit(text, changes...)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		j, err := s.read(text)
		if err != nil {
			t.Errorf("%q: %v", c.where, err)
			continue
		}
		doc, err := parse(text)
		if err != nil {
			t.Fatal(err)
		}
		got := find(doc.Content[0], "releases", "0").Content
		where := ""
		for i := 0; i+1 < len(got); i += 2 {
			if got[i].Value == "where" {
				where = got[i+1].Value
			}
		}
		if p := readPeriod(where); where != c.want || p.from != c.from || p.to != c.to || j.Releases[0].Where.Said() != (c.want != "") {
			t.Errorf("%q from %q to %q: %q, read as %+v", c.where, c.from, c.to, where, p)
		}
	}
	for text, want := range map[string]bool{"(a || b)": true, "(a) || (b)": false, "('(' == a) || (b == ')')": false, `(a == ')' || b == "\")")`: true, "a": false, "": false, "(a": false} {
		if enclosed(text) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
	doc, err := parse(complete)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (Action{Name: "day/0/from", Value: "') || true || ('"}).changes(doc.Content[0]); err == nil {
		t.Error("what is no day became part of a condition")
	}
}

// Every example opens: its forms can be made, a slider that is moved and moved back leaves the text as it was, and a title more
// leaves the job that it is.
func TestExamplesOpen(t *testing.T) {
	files, err := filepath.Glob("../../examples/*/*.yaml")
	if err != nil || len(files) < 20 {
		t.Fatal(files, err)
	}
	opened := 0
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		read := func(text string) *job.Job {
			j, _ := language.Parse(file, []byte(text), language.Options{})
			return j
		}
		before := read(string(b))
		if before == nil || len(before.Releases) == 0 {
			continue // no job: a deployment, a catalog
		}
		opened++
		doc, err := parse(string(b))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if _, err := render("form", catalogues()["de"].form(doc.Content[0], header{}, found{})); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		title, err := Edit(string(b), Change{Path: []string{"publication", "title"}, Value: "Another title"})
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if after := read(title); after == nil || after.Digest() != before.Digest() {
			t.Errorf("%s: a title makes it another job:\n%s", file, title)
		}
		at := []string{"releases", "0", "guarantee", "epsilon"}
		if n := find(doc.Content[0], at...); n != nil {
			away, err := Edit(string(b), Change{Path: at, Value: "0.777"})
			if err != nil || away == string(b) {
				t.Errorf("%s: %v", file, err)
			}
			if back, err := Edit(away, Change{Path: at, Value: n.Value}); err != nil || len(back) > len(b) || read(back).Digest() != before.Digest() {
				t.Errorf("%s: there and back (%v):\n%s", file, err, back)
			}
		}
	}
	if opened < 15 {
		t.Errorf("only %d examples were opened", opened)
	}
}
