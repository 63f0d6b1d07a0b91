package lang

import (
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/internal/say/problem"
)

func reader() *Reader {
	return NewReader("f", Words{Language: "this language", What: "a text", Holds: "text", Start: "begin", Advice: "split it"},
		Limits{Bytes: 1 << 20, Marks: 1000, Expanded: 100})
}

// A text that is no tree is told with its place and what to do.
func TestDocumentRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "f: is empty (begin)",
		"# nothing\n":              "f: is empty (begin)",
		strings.Repeat("a", 2<<20): "f: is larger than 1 MB, the most that a text may be (split it)",
		strings.Repeat("\n", 2000): "f: has more than 1000 lines, commas and colons (split it)",
		"a: \xff":                  "f:1:4: is not UTF-8 (save the file as UTF-8 text)",
		"a: é\x00":                 "f:1:5: holds a control character (remove it)",
		"a: 1\n---\nb: 2\n":        "f:2:1: has a second YAML document (one file is one text)",
		"a:\n\tb: 1\n":             "f:2:1: is indented with a tab (indent with spaces: YAML knows no tabs)",
		"a: [1, ${B}]":             "f:1:8: is not YAML: the brace of ${…} begins a mapping here (put the value in quotes)",
		"a: *b":                    "f:1:4: is not YAML: unknown anchor 'b' referenced",
		"a: {b: 1":                 "f:1:8: is not YAML: did not find expected ',' or '}' (the { at 1:4 is not closed)",
		"a: {b: [1}":               "f:1:10: is not YAML: did not find expected ',' or ']' (the [ at 1:8 is not closed)",
		"{\"a\": 1":                "f:1:8: is not JSON: unexpected end of JSON input",
		"{\"a\": @}":               "f:1:7: is not JSON: invalid character '@' looking for beginning of value",
		"{\"a\": 1} {\"b\": 2}":    "f:1:10: is not JSON: invalid character '{' after top-level value",
	} {
		r := reader()
		if n := r.Document([]byte(text)); n != nil || len(r.Problems) != 1 || r.Problems[0].Error() != want {
			t.Errorf("%.30q: %v, want %s", text, r.Problems, want)
		}
	}
	r := reader()
	if n := r.Document([]byte("\uFEFF%YAML 1.2\n---\n{\"a\": 1}\n")); n == nil || n.Kind != yaml.MappingNode {
		t.Errorf("a text that says that it is YAML 1.2: %v", r.Problems)
	}
}

// Mappings with keys that cannot be told apart, and values that no value may be.
func TestPairsAndOpen(t *testing.T) {
	r := reader()
	root := r.Document([]byte("a: &x 1\nb: *x\na: 2\n<<: {c: 1}\n[1]: 2\nd: !!int 3\ne:\n\"f g\": {}\n"))
	pairs, ok := r.Pairs(Place{At: root, Node: root})
	if !ok || len(pairs) != 5 {
		t.Fatalf("%d pairs, %v: %v", len(pairs), ok, r.Problems)
	}
	for i := range pairs {
		open := r.Open(&pairs[i])
		if want := i < 2 || i == 4; open != want {
			t.Errorf("%s: opened %v", pairs[i].Path, open)
		}
	}
	want := "f:3:1: a: is given twice (first in line 1)\n" +
		"f:4:1: merge keys (<<) are not part of this language (write the keys out)\n" +
		"f:5:1: has a key that is not a text\n" +
		"f:6:1: d: has a YAML tag, which this language does not use (leave the tag out)\n" +
		"f:7:1: e: has no value (say a value, or leave the key out)"
	if got := r.Problems.Sort().Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if pairs[1].Node.Value != "1" || pairs[4].Path != `["f g"]` {
		t.Errorf("an alias is %q, a quoted key %s", pairs[1].Node.Value, pairs[4].Path)
	}
	if at, ok := problem.Nearest(r.Places, `["f g"].x[3]`); !ok || at.Line != 8 {
		t.Errorf("the nearest place is %v", at)
	}
}

// Aliases that double at each step, or stand inside themselves, run out.
func TestAliasesRunOut(t *testing.T) {
	r := reader()
	p := Place{}
	root := r.Document([]byte("a: &a [*a, *a]"))
	p.At, p.Node = root, root
	var walk func(p Place)
	walk = func(p Place) {
		if !r.Open(&p) {
			return
		}
		for _, n := range p.Node.Content {
			walk(Place{Path: p.Path + "x", At: n, Node: n})
			if len(r.Problems) > 0 {
				return
			}
		}
	}
	walk(p)
	if len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Message, "aliases of this file expand to more than 100 values") {
		t.Errorf("%v", r.Problems)
	}
}
