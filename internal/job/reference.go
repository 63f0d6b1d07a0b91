package job

import (
	"errors"
	"slices"
	"strings"
)

// Reference is the description of every key, in Markdown, as it is declared.
func Reference() string {
	b := &referenceText{sections: map[string]string{}}
	lang := language()
	b.WriteString("### The file\n\n")
	b.keys(lang.nested)
	for _, d := range lang.nested {
		b.section(d.name, d)
	}
	return b.String()
}

// referenceText writes the keys. A mapping that stands at two places is written once.
type referenceText struct {
	strings.Builder
	sections map[string]string // the text of a mapping, and the path under which it was written
}

// section writes a heading and the keys of each mapping, the outer one first. What the
// mapping is for stands at its key, in the section above.
func (b *referenceText) section(path string, d decl) {
	if len(d.nested) == 0 {
		return
	}
	path += strings.TrimSuffix(d.suffix, ".")
	b.WriteString("\n### `" + path + "`\n\n")
	whole := new(referenceText)
	whole.all(d.nested)
	if before, ok := b.sections[whole.String()]; ok {
		b.WriteString("As in `" + before + "`.\n")
		return
	}
	b.sections[whole.String()] = path
	b.keys(d.nested)
	for _, n := range d.nested {
		b.section(path+"."+n.name, n)
	}
}

// all writes the keys of a mapping and of all mappings in it. Two mappings with one such text are the same.
func (b *referenceText) all(ds []decl) {
	b.keys(ds)
	for _, d := range ds {
		b.all(d.nested)
	}
}

func (b *referenceText) keys(ds []decl) {
	for _, d := range joined(ds) {
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
		b.WriteString("- **`" + d.name + "`** (" + label + ") " + doc + "\n")
	}
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
