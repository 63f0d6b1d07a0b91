package design

import (
	"errors"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/design/draft"
)

const commented = `# the whole job

version: 1 # first
job: "visits"

dataset:
  id: visits        # the account
  source: {path: visits.csv, delimiter: ";"}   # a file
  # who knows what
  relation: add-remove
  columns:
    cost: {lower: 0, upper: 2000, missing: drop}
    region: {domain: [north, "a, b"]}

releases:
  # the first table
  - {name: a, mechanism: count, guarantee: {epsilon: "0.1"}}   # cheap
  - name: b
    mechanism: mean
output: {dir: out}
`

// A change replaces one value on its line and leaves every other byte; a change of the structure keeps all comments,
// empty lines and values.
func TestEdit(t *testing.T) {
	for _, c := range []struct {
		name         string
		change       Change
		in, out      string // what is replaced, byte by byte; "" where the text is laid out afresh
		has, has_not string
	}{
		{"a quoted number", Change{[]string{"releases", "0", "guarantee", "epsilon"}, `"0.25"`}, `"0.1"`, `"0.25"`, "", ""},
		{"a plain word", Change{[]string{"dataset", "relation"}, "replace-one"}, "add-remove", "replace-one", "", ""},
		{"a number in braces", Change{[]string{"dataset", "columns", "cost", "upper"}, "2500.5"}, "2000", "2500.5", "", ""},
		{"a quoted text", Change{[]string{"job"}, draft.Quoted("a: b # c")}, `"visits"`, `'a: b # c'`, "", ""},
		{"a new key", Change{[]string{"dataset", "size"}, "100"}, "", "", "\n  size: 100\n", ""},
		{"a new mapping", Change{[]string{"dataset", "unit", "column"}, "patient"}, "", "", "unit:", ""},
		{"a list", Change{[]string{"dataset", "columns", "region", "domain"}, list([]string{"x", "y, z", "1"})}, "", "", `region: {domain: [x, "y, z", "1"]}`, "north"},
		{"a key that goes", Change{[]string{"dataset", "columns", "cost"}, ""}, "", "", "region:", "cost"},
		{"the last key of a mapping", Change{[]string{"releases", "0", "guarantee", "epsilon"}, ""}, "", "", "mechanism: count}", "guarantee"},
		{"a new item", Change{[]string{"releases", "2"}, "{name: c, mechanism: sum}"}, "", "", "- {name: c, mechanism: sum}", ""},
		{"an item that goes", Change{[]string{"releases", "1"}, ""}, "", "", "name: a", "name: b"},
		{"nothing to take away", Change{[]string{"dataset", "cap"}, ""}, "", "", "relation: add-remove", ""},
	} {
		got, err := Edit(commented, c.change)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if c.in != "" && got != strings.Replace(commented, c.in, c.out, 1) {
			t.Errorf("%s: the text is now\n%s", c.name, got)
		}
		if !strings.Contains(got, c.has) || c.has_not != "" && strings.Contains(got, c.has_not) {
			t.Errorf("%s: the text is now\n%s", c.name, got)
		}
		for _, comment := range []string{"# the whole job", "# first", "# the account", "# a file", "# who knows what", "# the first table"} {
			if !strings.Contains(got, comment) {
				t.Errorf("%s: %q is lost in\n%s", c.name, comment, got)
			}
		}
		if strings.Count(got, "\n\n") != 3 {
			t.Errorf("%s: empty lines are lost or new:\n%s", c.name, got)
		}
		again, err := Edit(got, c.change)
		if err != nil || c.name != "an item that goes" && again != got {
			t.Errorf("%s: the same change again gives (%v)\n%s", c.name, err, again)
		}
	}
}

// What cannot be changed without a change of something else is refused.
func TestEditRefuses(t *testing.T) {
	const shared = "a: &x {b: 1}\nc: *x\nd: [1, 2]\n"
	for _, c := range []struct {
		text   string
		change Change
		want   error
	}{
		{shared, Change{[]string{"c", "b"}, "2"}, errShared},
		{shared, Change{[]string{"c"}, "2"}, errShared},
		{shared, Change{[]string{"a"}, "2"}, errShared},
		{shared, Change{[]string{"d", "x"}, "2"}, errShared},
		{"a: [", Change{[]string{"a"}, "2"}, errUnreadable},
		{"a: 1", Change{[]string{"a"}, "{"}, errUnreadable},
		{"", Change{[]string{"a"}, "1"}, errUnreadable},
		{bomb, Change{[]string{"i", "x"}, "1"}, errShared},
	} {
		if got, err := Edit(c.text, c.change); !errors.Is(err, c.want) {
			t.Errorf("%q: %q, %v; want %v", c.text, got, err, c.want)
		}
	}
}

// bomb would be a billion values if its aliases were written out.
var bomb = func() string {
	var b strings.Builder
	b.WriteString("a: &a [x, x, x, x, x, x, x, x, x, x]\n")
	for _, name := range "bcdefghi" {
		before := string(name - 1)
		b.WriteString(string(name) + ": &" + string(name) + " [" + strings.TrimSuffix(strings.Repeat("*"+before+", ", 10), ", ") + "]\n")
	}
	return b.String()
}()

func FuzzEdit(f *testing.F) {
	f.Add(commented, "dataset/relation", "x")
	f.Add(bomb, "i/0", "1")
	f.Add("a: 'it''s'\n", "a", "b")
	f.Add("a: |\n  text\n\n  more\nb: 1\n", "c", "d")
	f.Add("? [a]\n: b\n", "a", "1")
	f.Fuzz(func(t *testing.T, text, path, value string) {
		change := Change{Path: strings.Split(path, "/"), Value: draft.Quoted(value)}
		got, err := Edit(text, change)
		if err != nil {
			return
		}
		before, err := parse(text)
		if err != nil {
			t.Fatal(err)
		}
		after, err := parse(got)
		if err != nil {
			t.Fatalf("%q became %q, which is no YAML", text, got)
		}
		want, err := parse(change.Value)
		if err != nil || place(before.Content[0], want.Content[0], change.Path) != nil || !same(before, after) {
			t.Fatalf("%q became %q, which says something else", text, got)
		}
	})
}
