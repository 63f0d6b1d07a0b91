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

// keyLine describes one key.
func keyLine(d decl) string {
	label := d.label
	if d.required {
		label += ", **required**"
	}
	if d.def != "" {
		label += ", default `" + d.def + "`"
	}
	doc := sentence(d.doc)
	if d.example != "" {
		doc += " `" + d.example + "`"
	}
	return "- **`" + d.name + "`** (" + label + ") " + doc
}

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
