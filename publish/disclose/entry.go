package disclose

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Missing is a field that only a person can fill, and the key of publication that does.
type Missing struct {
	Field string `json:"field"`
	Key   string `json:"key"`
	Tier  int    `json:"tier"`
}

// Entry is an entry of the registry.
type Entry struct {
	File    string    `json:"file"` // the name that the registry demands
	Text    []byte    `json:"-"`
	Tier    int       `json:"tier"` // the highest tier whose fields are all filled
	Missing []Missing `json:"missing"`
	Dated   bool      `json:"dated_by_report"` // the day of publication is that of the file report.json
}

// entry collects the values of fields: text, list of texts, or a number as it is written.
type entry map[string]any

type figure string

func (e entry) set(path, value string) {
	if value = tidy(value); value != "" {
		e[path] = value
	}
}

func (e entry) list(path string, values ...string) {
	var out []string
	for _, v := range values {
		if v = tidy(v); v != "" {
			out = append(out, strings.ReplaceAll(v, "\n", " "))
		}
	}
	if len(out) > 0 {
		e[path] = out
	}
}

func (e entry) number(path, decimals string) { e[path] = figure(floatText(decimals)) }

// floatText writes a number so that readers of YAML 1.1 take it for one: an exponent has a
// dot before it and a sign.
func floatText(s string) string {
	mantissa, exponent, ok := strings.Cut(s, "e")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	if !ok {
		return mantissa
	}
	if exponent[0] != '-' && exponent[0] != '+' {
		exponent = "+" + exponent
	}
	return mantissa + "e" + exponent
}

var (
	loneSlashes = regexp.MustCompile(`\\\\+([^(\\)]|$)`)
	stopAfter   = regexp.MustCompile(`(https?://[^\s,;)"]*?)\.+(\s|$)`)
	unprinted   = regexp.MustCompile("[\x00-\x08\x0b-\x1f\x7f\u0085\u2028\u2029\ufeff]")
)

// tidy makes a text one that the registry's checks accept: no blanks at the ends of lines,
// no full stop that would become part of an address, no two backslashes but before a formula.
func tidy(s string) string {
	s = unprinted.ReplaceAllString(strings.ReplaceAll(s, "\t", " "), " ")
	s = stopAfter.ReplaceAllString(s, "$1$2")
	s = loneSlashes.ReplaceAllString(s, `\$1`)
	var lines []string
	for _, line := range strings.Split(s, "\n") {
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// words are runs of letters, digits and low lines, as the registry computes addresses.
var between = regexp.MustCompile(`[^\pL\pN_]+`)

// slug is the address that the registry computes for an entry.
func slug(name string, curators []string, date string) string {
	year, _, _ := strings.Cut(date, "-")
	parts := []string{name, strings.Join(curators, "-"), year}
	for i, p := range parts {
		parts[i] = between.ReplaceAllString(strings.ToLower(p), "_")
	}
	return strings.ReplaceAll(strings.Join(parts, "_"), "_", "-")
}

var notInFile = regexp.MustCompile(`[^a-z0-9]+`)

// fileName is the name of the entry's file: the title in lower-case letters and digits.
func fileName(name string) string {
	base := strings.Trim(notInFile.ReplaceAllString(strings.ToLower(name), "_"), "_")
	if base == "" {
		base = "entry"
	}
	return base + ".yaml"
}

// finish computes the fields that follow from the others, and writes the entry. The error
// names what the registry demands and only a person knows.
func (e entry) finish() (*Entry, error) {
	out := &Entry{Missing: []Missing{}}
	var needed []string
	short := map[int]bool{}
	group := false
	for path := range anyOf {
		group = group || e[path] != nil
	}
	for _, f := range fields[3:] {
		if e[f.path] != nil || anyOf[f.path] && group {
			continue
		}
		if f.tier > 0 {
			short[f.tier] = true
			out.Missing = append(out.Missing, Missing{f.path, asked[f.path], f.tier})
		}
		if f.required {
			needed = append(needed, asked[f.path])
		}
	}
	if len(needed) > 0 {
		return out, &IncompleteError{Keys: needed}
	}
	for out.Tier = 1; out.Tier < 3 && !short[out.Tier] && !short[out.Tier+1]; {
		out.Tier++
	}
	name, _ := e["deployment.basic.name"].(string)
	curators, _ := e["deployment.basic.data_curators"].([]string)
	date, _ := e["deployment.basic.publication_date"].(string)
	e["url_slug"], e["status"], e["tier"] = slug(name, curators, date), "Draft", figure(strconv.Itoa(out.Tier))
	out.File = fileName(name)
	var b bytes.Buffer
	y := yaml.NewEncoder(&b)
	y.SetIndent(2)
	if err := y.Encode(e.node("")); err != nil {
		return nil, err
	}
	out.Text = b.Bytes()
	if problems := Problems(out.File, out.Text); len(problems) > 0 {
		return out, fmt.Errorf("the entry breaks a rule of the registry: %s", problems[0])
	}
	return out, nil
}

// IncompleteError lists the words that the registry demands and the job does not have.
type IncompleteError struct{ Keys []string }

// Error names the keys.
func (e *IncompleteError) Error() string {
	return "the registry demands what only a person knows: publication needs " + strings.Join(e.Keys, ", ")
}

// node is the part of the entry below a path, in the registry's order.
func (e entry) node(below string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	done := map[string]bool{}
	for _, f := range fields {
		rest, ok := strings.CutPrefix(f.path, below)
		if !ok || e[f.path] == nil {
			continue
		}
		key, _, nested := strings.Cut(rest, ".")
		if done[key] {
			continue
		}
		done[key] = true
		value := &yaml.Node{}
		if nested {
			value = e.node(below + key + ".")
		} else {
			value = scalar(f, e[f.path])
		}
		n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, value)
	}
	return n
}

func scalar(f field, value any) *yaml.Node {
	switch v := value.(type) {
	case figure:
		tag := "!!float"
		if f.kind == tier {
			tag = "!!int"
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: string(v)}
	case []string:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for _, s := range v {
			n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.SingleQuotedStyle, Value: s})
		}
		return n
	case string:
		n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.SingleQuotedStyle, Value: v}
		switch {
		case f.path == "url_slug" || len(f.one) > 0:
			n.Style = 0
		case strings.Contains(v, "\n"):
			n.Style = yaml.LiteralStyle
		}
		return n
	}
	return nil
}
