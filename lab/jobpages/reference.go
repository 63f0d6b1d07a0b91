package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/job/language"
)

// reference returns the description of every key, in Markdown, as it is declared.
func reference() string {
	b := &referenceText{sections: map[string]string{}, lines: map[string]string{}}
	all := language.Language()
	b.WriteString("### The file\n\n")
	b.keys("", all)
	for _, d := range all {
		b.section(d.Name, d)
	}
	return b.String()
}

// referenceText writes the keys. A mapping that stands at two places is written once, and so is a key
// that two mappings have in the same words.
type referenceText struct {
	strings.Builder
	sections map[string]string // the text of a mapping, and the path under which it was written
	lines    map[string]string // the text of a key, and the path of the mapping under which it was written
}

// section writes a heading and the keys of each mapping, the outer one first. What the
// mapping is for stands at its key, in the section above.
func (b *referenceText) section(path string, d language.Declared) {
	path += strings.TrimSuffix(d.Suffix, ".")
	text := wholeText(d.Nested)
	if _, written := b.sections[text]; written || len(d.Nested) == 0 {
		return
	}
	b.sections[text] = path
	b.WriteString("\n### `" + path + "`\n\n")
	b.keys(path, d.Nested)
	for _, n := range d.Nested {
		b.section(path+"."+n.Name, n)
	}
}

// wholeText holds the keys of a mapping and of all mappings in it. Two mappings with one such text are the same.
func wholeText(ds []language.Declared) string {
	var b strings.Builder
	for _, d := range joined(ds) {
		b.WriteString(keyLine(d) + wholeText(d.Nested))
	}
	return b.String()
}

func (b *referenceText) keys(path string, ds []language.Declared) {
	var froms []string // the mappings whose keys stand here too, in order
	names := map[string][]string{}
	for _, d := range joined(ds) {
		line := keyLine(d)
		if before := b.sections[wholeText(d.Nested)]; before != "" && !strings.HasPrefix(d.Doc, "As ") {
			line += " As in `" + before + "`."
		}
		if from, written := b.lines[line]; written {
			if names[from] == nil {
				froms = append(froms, from)
			}
			names[from] = append(names[from], d.Name)
			continue
		}
		b.lines[line] = path
		b.WriteString(line + "\n")
	}
	for _, from := range froms {
		b.WriteString("- **`" + strings.Join(names[from], "`**, **`") + "`** as in `" + from + "`\n")
	}
}

// keyLine describes one key. What an example shows, or the head of the page says, is left out.
func keyLine(d language.Declared) string {
	label := briefly.Replace(d.Label)
	if d.Example != "" && slices.Contains([]string{"text", "name", "path", d.Example}, label) || label == "mapping" {
		label = ""
	}
	var parts []string
	if label != "" {
		parts = append(parts, label)
	}
	if d.Required {
		parts = append(parts, "**required**")
	}
	if d.Default != "" {
		parts = append(parts, "default `"+d.Default+"`")
	}
	line := "- **`" + d.Name + "`** "
	if len(parts) > 0 {
		line += "(" + strings.Join(parts, ", ") + ") "
	}
	line += strings.Replace(sentence(d.Doc), " ${NAME} is replaced.", "", 1)
	if plain := label != "" && strings.Trim(d.Example, "0123456789.") == ""; !plain && d.Example != "" {
		line += " `" + d.Example + "`"
	}
	return line
}

// briefly says in few words what a key may hold; check says all of it where a value is wrong.
var briefly = strings.NewReplacer(
	"true or false", "", "whole number, at least ", "≥ ", "number greater than ", "> ", "number at least ", "≥ ", " and at most ", ", ≤ ",
	" and less than ", ", < ",
	"1 to 200 of the characters A-Z a-z 0-9 . _ -, the first a letter or digit", "up to 200 of A-Z a-z 0-9 . _ -",
	"1 to 64 of the characters A-Z a-z 0-9 . _ -, the first a letter or digit", "up to 64 of A-Z a-z 0-9 . _ -",
	"1 to 40 letters, digits, spaces, - and ’, a letter first and no space last", "up to 40 letters",
	"1 to 200 characters on one line", "one line", "list of one lines", "list of lines")

// joined makes one of the keys of several methods that have one name and one text.
func joined(ds []language.Declared) (out []language.Declared) {
	for _, d := range ds {
		method, doc, ok := strings.Cut(d.Doc, ": ")
		i := slices.IndexFunc(out, func(o language.Declared) bool {
			_, other, _ := strings.Cut(o.Doc, ": ")
			return o.Name == d.Name && o.Label == d.Label && o.Example == d.Example && other == doc
		})
		if method, found := strings.CutPrefix(method, "method "); ok && found && i >= 0 {
			first, _, _ := strings.Cut(out[i].Doc, ": ")
			out[i].Doc = first + ", " + method + ": " + doc
			continue
		}
		out = append(out, d)
	}
	return out
}

func sentence(s string) string {
	if s == "" || strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

// The lines between which a document holds the reference.
const (
	referenceBegin = "<!-- begin generated reference: go generate ./internal/job/language -->\n"
	referenceEnd   = "<!-- end generated reference -->\n"
)

// insertReference puts the reference between its two marks in a document.
func insertReference(document string) (string, error) {
	before, rest, ok := strings.Cut(document, referenceBegin)
	if !ok {
		return "", errors.New("the mark that begins the reference is missing")
	}
	_, after, ok := strings.Cut(rest, referenceEnd)
	if !ok {
		return "", errors.New("the mark that ends the reference is missing")
	}
	return before + referenceBegin + "\n" + reference() + "\n" + referenceEnd + after, nil
}
