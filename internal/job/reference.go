package job

import (
	"errors"
	"strings"
)

// Reference is the description of every key, in Markdown, as it is declared.
func Reference() string {
	var b strings.Builder
	lang := language()
	b.WriteString("### The file\n\n")
	writeTable(&b, lang.nested)
	for _, d := range lang.nested {
		writeNested(&b, d.name, d, 3)
	}
	return b.String()
}

// writeNested writes one section for each mapping, the outer one first.
func writeNested(b *strings.Builder, path string, d decl, level int) {
	if len(d.nested) == 0 {
		return
	}
	path += strings.TrimSuffix(d.suffix, ".")
	b.WriteString("\n" + strings.Repeat("#", level) + " `" + path + "`\n\n")
	b.WriteString(sentence(d.doc) + "\n\n")
	writeTable(b, d.nested)
	for _, n := range d.nested {
		writeNested(b, path+"."+n.name, n, level+1)
	}
}

func writeTable(b *strings.Builder, ds []decl) {
	b.WriteString("| key | value | default | what it says |\n|---|---|---|---|\n")
	for _, d := range ds {
		def := "–"
		switch {
		case d.required:
			def = "**required**"
		case d.def != "":
			def = "`" + d.def + "`"
		}
		doc := sentence(d.doc)
		if d.example != "" {
			doc += " Example: `" + d.example + "`"
		}
		b.WriteString("| `" + d.name + "` | " + cell(d.label) + " | " + cell(def) + " | " + cell(doc) + " |\n")
	}
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

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
