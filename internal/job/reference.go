package job

import (
	"errors"
	"slices"
	"strings"
)

// Reference is the description of every key, in Markdown, as it is declared.
func Reference() string {
	b := &referenceText{sections: map[string]string{}, lines: map[string]string{}}
	lang := language()
	b.WriteString("### The file\n\n")
	b.keys("", lang.nested)
	for _, d := range lang.nested {
		b.section(d.name, d)
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
func (b *referenceText) section(path string, d decl) {
	path += strings.TrimSuffix(d.suffix, ".")
	text := wholeText(d.nested)
	if _, written := b.sections[text]; written || len(d.nested) == 0 {
		return
	}
	b.sections[text] = path
	b.WriteString("\n### `" + path + "`\n\n")
	b.keys(path, d.nested)
	for _, n := range d.nested {
		b.section(path+"."+n.name, n)
	}
}

// wholeText holds the keys of a mapping and of all mappings in it. Two mappings with one such text are the same.
func wholeText(ds []decl) string {
	var b strings.Builder
	for _, d := range joined(ds) {
		b.WriteString(keyLine(d) + wholeText(d.nested))
	}
	return b.String()
}

func (b *referenceText) keys(path string, ds []decl) {
	var froms []string // the mappings whose keys stand here too, in order
	names := map[string][]string{}
	for _, d := range joined(ds) {
		line := keyLine(d)
		if before := b.sections[wholeText(d.nested)]; before != "" && !strings.HasPrefix(d.doc, "As ") {
			line += " As in `" + before + "`."
		}
		if from, written := b.lines[line]; written {
			if names[from] == nil {
				froms = append(froms, from)
			}
			names[from] = append(names[from], d.name)
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
func keyLine(d decl) string {
	label := briefly.Replace(d.label)
	if d.example != "" && slices.Contains([]string{"text", "name", "path", d.example}, label) || label == "mapping" {
		label = ""
	}
	var parts []string
	if label != "" {
		parts = append(parts, label)
	}
	if d.required {
		parts = append(parts, "**required**")
	}
	if d.def != "" {
		parts = append(parts, "default `"+d.def+"`")
	}
	line := "- **`" + d.name + "`** "
	if len(parts) > 0 {
		line += "(" + strings.Join(parts, ", ") + ") "
	}
	line += strings.Replace(sentence(d.doc), " ${NAME} is replaced.", "", 1)
	if plain := label != "" && strings.Trim(d.example, "0123456789.") == ""; !plain && d.example != "" {
		line += " `" + d.example + "`"
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
func joined(ds []decl) (out []decl) {
	for _, d := range ds {
		method, doc, ok := strings.Cut(d.doc, ": ")
		i := slices.IndexFunc(out, func(o decl) bool {
			_, other, _ := strings.Cut(o.doc, ": ")
			return o.name == d.name && o.label == d.label && o.example == d.example && other == doc
		})
		if method, found := strings.CutPrefix(method, "method "); ok && found && i >= 0 {
			first, _, _ := strings.Cut(out[i].doc, ": ")
			out[i].doc = first + ", " + method + ": " + doc
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
	referenceBegin = "<!-- begin generated reference: go generate ./internal/job -->\n"
	referenceEnd   = "<!-- end generated reference -->\n"
)

// InsertReference puts the reference between its two marks in a document.
func InsertReference(document string) (string, error) {
	before, rest, ok := strings.Cut(document, referenceBegin)
	if !ok {
		return "", errors.New("the mark that begins the reference is missing")
	}
	_, after, ok := strings.Cut(rest, referenceEnd)
	if !ok {
		return "", errors.New("the mark that ends the reference is missing")
	}
	return before + referenceBegin + "\n" + Reference() + "\n" + referenceEnd + after, nil
}

// Choices returns the words that a key may hold, by the path to it in the declared language, such as dataset, source, encoding.
func Choices(path ...string) []string {
	d := language()
	for _, name := range path {
		i := slices.IndexFunc(d.nested, func(d decl) bool { return d.name == name })
		if i < 0 {
			return nil
		}
		d.nested, d.schema = d.nested[i].nested, d.nested[i].schema
	}
	words, _ := d.schema["enum"].([]string)
	return words
}
