package lang

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/internal/data/file"
	"github.com/dprelease/dprelease/internal/say/problem"
)

// leading is a key at the beginning of a line.
var leading = regexp.MustCompile(`^[{ \t]*["']?([A-Za-z_]+)["']?[ \t]*:`)

// nothing matches a line of a document without a value: a comment or a mark.
var nothing = regexp.MustCompile(`(?m)^[ \t]*(#.*|---|\.\.\.)?[ \t\r]*(\n|\z)`)

// foreign records a text that holds no mapping with keys of the language, and returns
// false for any other. The problem says what the text looks like and quotes nothing. // P33
func (r *Reader) foreign(text []byte) bool {
	if len(r.Keys) == 0 || len(nothing.ReplaceAll(text, nil)) == 0 {
		return false
	}
	for line := range bytes.Lines(text) {
		if m := leading.FindSubmatch(line); m != nil && r.known(string(m[1])) {
			return false
		}
	}
	kind, hint := file.Looks(text), r.Start
	if kind == file.UTF16 {
		hint = "save the file as UTF-8 text"
	}
	r.Wrong(Place{}, hint, "is not %s: it looks like %s", r.What, kind)
	return true
}

// ours reports whether a mapping is a text of the language: one of the telling keys is among
// its keys, and at least half are known. Else it records a problem that quotes nothing. // P33
func (r *Reader) ours(n *yaml.Node) bool {
	known, told := 0, r.Telling == nil
	for i := 0; i < len(n.Content); i += 2 {
		name := n.Content[i].Value
		told = told || slices.Contains(r.Telling, name) || problem.NearestWord(name, r.Telling) != ""
		if r.known(name) {
			known++
		}
	}
	switch {
	case len(r.Keys) > 0 && (known == 0 || 4*known < len(n.Content)):
		return r.Wrong(Place{}, r.Start, "is not %s: hardly one of its keys is a key of %s", r.What, r.Language)
	case !told:
		return r.Wrong(Place{}, r.Start, "is not %s: it has none of the keys %s", r.What, strings.Join(r.Telling, ", "))
	}
	return true
}

// known reports whether a word is a key of the language, or one with a slip.
func (r *Reader) known(word string) bool {
	return slices.Contains(r.Keys, word) || problem.NearestWord(word, r.Keys) != ""
}
