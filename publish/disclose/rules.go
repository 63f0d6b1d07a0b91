package disclose

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// Words that a reader of YAML 1.1 does not take for text.
var (
	boolean11 = regexp.MustCompile(`^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$`)
	float11   = regexp.MustCompile(
		`^(?:[-+]?(?:[0-9][0-9_]*)\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|` +
			`[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)
	int11 = regexp.MustCompile(
		`^(?:[-+]?0b[0-1_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+|[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+)$`)
	null11   = regexp.MustCompile(`^(?:~|null|Null|NULL|)$`)
	time11   = regexp.MustCompile(`^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}.*)?$`)
	fileRule = regexp.MustCompile(`^[a-z0-9_]+\.yaml$`)
	slashes  = regexp.MustCompile(`\\\\[^()]|\\\\$`)
)

// Problems lists the rules of the registry that an entry breaks. It cannot tell whether an
// address in a text answers, nor whether another entry has the same address.
func Problems(file string, content []byte) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if !fileRule.MatchString(file) {
		add("the file name %s is not lower-case letters, digits and low lines, then .yaml", file)
	}
	for i, line := range strings.Split(string(content), "\n") {
		if strings.TrimRight(line, " \t\r") != line {
			add("line %d ends in a blank", i+1)
		}
	}
	if !bytes.HasSuffix(content, []byte("\n")) || bytes.HasSuffix(content, []byte("\n\n")) {
		add("it must end in one line end")
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var doc, more yaml.Node
	if err := decoder.Decode(&doc); err != nil || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return append(out, "it is not one YAML mapping")
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		add("it holds more than one document")
	}
	r := reader{found: map[string]*yaml.Node{}, parts: map[string]bool{}}
	r.walk("", doc.Content[0])
	out = append(out, r.problems...)
	for _, f := range fields {
		n, parent := r.found[f.path], f.path[:max(strings.LastIndex(f.path, "."), 0)]
		switch {
		case n == nil && f.required && (r.parts[parent] || parent != "deployment.administrative"):
			add("%s is missing", f.path)
		case n != nil:
			out = append(out, f.wrong(n)...)
		}
	}
	if len(out) > 0 {
		return out
	}
	var curators []string
	for _, c := range r.found["deployment.basic.data_curators"].Content {
		curators = append(curators, c.Value)
	}
	want := slug(r.found["deployment.basic.name"].Value, curators, r.found["deployment.basic.publication_date"].Value)
	if first, _, _ := strings.Cut(string(content), "\n"); first != "url_slug: "+want {
		add("the first line must be url_slug: %s", want)
	}
	return out
}

// reader holds an entry to the list of fields and their order.
type reader struct {
	found    map[string]*yaml.Node
	parts    map[string]bool // mappings that are there
	last     int
	problems []string
}

func (r *reader) walk(below string, n *yaml.Node) {
	r.parts[strings.TrimSuffix(below, ".")] = true
	for i := 0; i+1 < len(n.Content); i += 2 {
		path, value := below+n.Content[i].Value, n.Content[i+1]
		k := slices.IndexFunc(fields, func(f field) bool { return f.path == path || strings.HasPrefix(f.path, path+".") })
		switch {
		case k < 0:
			r.problems = append(r.problems, path+" is no field of an entry")
			continue
		case r.found[path] != nil || r.parts[path]:
			r.problems = append(r.problems, path+" is there twice")
		case k < r.last:
			r.problems = append(r.problems, path+" stands in the wrong order")
		}
		r.last = max(r.last, k)
		if fields[k].path == path {
			r.found[path] = value
		} else if value.Kind == yaml.MappingNode {
			r.walk(path+".", value)
		} else {
			r.problems = append(r.problems, path+" must be a mapping")
		}
	}
}

// wrong lists what is wrong with the value of a field.
func (f field) wrong(n *yaml.Node) (out []string) {
	add := func(what string) { out = append(out, f.path+" "+what) }
	switch f.kind {
	case texts:
		if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
			add("must be a list of at least one text")
			return out
		}
		for _, c := range n.Content {
			if !isText(c) {
				add("holds something else than text")
			}
			out = append(out, f.spelling(c)...)
		}
		return out
	case number:
		if !isNumber(n) {
			add("must be a number")
		}
	case share:
		if !isNumber(n) && !isText(n) {
			add("must be a number or a text")
		}
	case tier:
		if n.Style != 0 || !slices.Contains([]string{"1", "2", "3"}, n.Value) {
			add("must be 1, 2 or 3")
		}
	case day:
		if _, err := time.Parse("2006-01-02", n.Value); err != nil || !isText(n) {
			add("must be a day in quotes, such as '2026-10-31'")
		}
	case text:
		if !isText(n) {
			add("must be a text")
		}
	}
	if len(f.one) > 0 && !slices.Contains(f.one, n.Value) {
		add("must be one of " + strings.Join(f.one, ", "))
	}
	return append(out, f.spelling(n)...)
}

func (f field) spelling(n *yaml.Node) (out []string) {
	if n.Style&yaml.FoldedStyle != 0 {
		out = append(out, f.path+" is a folded text")
	}
	if slashes.MatchString(n.Value) {
		out = append(out, f.path+" has two backslashes that do not begin or end a formula")
	}
	return out
}

func plainScalar(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
}

func isNumber(n *yaml.Node) bool {
	return plainScalar(n) && (float11.MatchString(n.Value) || int11.MatchString(n.Value))
}

func isText(n *yaml.Node) bool {
	if n.Kind != yaml.ScalarNode || n.Alias != nil {
		return false
	}
	v := n.Value
	return !plainScalar(n) || !boolean11.MatchString(v) && !float11.MatchString(v) && !int11.MatchString(v) && !null11.MatchString(v) &&
		!time11.MatchString(v)
}
