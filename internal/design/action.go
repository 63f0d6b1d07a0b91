package design

import (
	"encoding/csv"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/internal/design/draft"
)

// Action is something that a person did on the page: the name of a control, which says what it changes, and its value.
type Action struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// pointer writes a path as the name of a control.
func pointer(verb string, path ...string) string {
	for _, p := range path {
		verb += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(p)
	}
	return verb
}

// verb returns what the action does, and where.
func (a Action) verb() (string, []string) {
	parts := strings.Split(a.Name, "/")
	for i, p := range parts {
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(p)
	}
	return parts[0], parts[1:]
}

// changes returns what an action changes in a job.
func (a Action) changes(root *yaml.Node) ([]Change, error) {
	verb, path := a.verb()
	value := strings.TrimSpace(a.Value)
	if act, ok := acts[verb]; ok && len(path) >= act.least {
		return act.do(root, path, value)
	}
	return nil, fmt.Errorf("%q is no action", verb)
}

// acts are the verbs of the page, each with the least length of its path.
var acts = map[string]struct {
	least int
	do    func(root *yaml.Node, path []string, value string) ([]Change, error)
}{
	"set":    {1, func(_ *yaml.Node, p []string, v string) ([]Change, error) { return one(p, scalar(v)) }},
	"text":   {1, func(_ *yaml.Node, p []string, v string) ([]Change, error) { return one(p, written(v)) }},
	"yaml":   {1, func(_ *yaml.Node, p []string, v string) ([]Change, error) { return one(p, raw(v)) }},
	"list":   {1, func(_ *yaml.Node, p []string, v string) ([]Change, error) { return one(p, listed(v)) }},
	"amount": {1, slide},
	"add":    {0, addTable},
	"drop":   {1, func(_ *yaml.Node, p []string, _ string) ([]Change, error) { return one(p, "") }},
	"use":    {1, use},
	"unit":   {0, unit},
	"rows":   {0, rows},
	"kind":   {1, kind},
	"by":     {2, by},
	"day":    {2, day},
}

func one(path []string, value string) ([]Change, error) {
	return []Change{{Path: path, Value: value}}, nil
}

// scalar writes a number as it was typed, and anything else as a text.
func scalar(v string) string {
	if _, ok := new(big.Rat).SetString(v); ok && !strings.ContainsAny(v, "/_") {
		return v
	}
	return written(v)
}

func written(v string) string {
	if v == "" {
		return ""
	}
	return draft.Quoted(v)
}

// raw is a value that was typed as YAML; what cannot be read stays a text, and check says what is wrong with it.
func raw(v string) string {
	if doc, err := parse("[" + v + "]"); v == "" || err == nil && len(doc.Content[0].Content) == 1 {
		return v
	}
	if doc, err := parse("[" + v + "]"); err == nil && len(doc.Content[0].Content) > 1 {
		return "[" + v + "]" // a list without its brackets
	}
	return draft.Quoted(v)
}

// listed writes a line with commas as a list.
func listed(v string) string {
	if v == "" {
		return ""
	}
	r := csv.NewReader(strings.NewReader(v))
	r.TrimLeadingSpace, r.LazyQuotes = true, true
	all, err := r.Read()
	if err != nil {
		return list([]string{v})
	}
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return list(slices.DeleteFunc(all, func(s string) bool { return s == "" }))
}

// A slider stands at whole hundredths of powers of ten, from 0.01 to 10.
const lowest, highest = -200, 100

// slide writes what a slider stands at as an amount.
func slide(_ *yaml.Node, path []string, v string) ([]Change, error) {
	at, err := strconv.Atoi(v)
	if err != nil || at < lowest || at > highest {
		return nil, fmt.Errorf("a slider stands from %d to %d", lowest, highest)
	}
	return one(path, `"`+amount(at)+`"`)
}

// amount returns the amount at which a slider stands, with two digits.
func amount(at int) string {
	x, _ := strconv.ParseFloat(strconv.FormatFloat(math.Pow(10, float64(at)/100), 'g', 2, 64), 64)
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// slider returns where a slider stands at an amount.
func slider(amount string) int {
	x, err := strconv.ParseFloat(amount, 64)
	if err != nil || !(x > 0) {
		return lowest
	}
	return min(max(int(math.Round(100*math.Log10(x))), lowest), highest)
}

// addTable adds a release of the mechanism that v names.
func addTable(root *yaml.Node, _ []string, v string) ([]Change, error) {
	n := find(root, "releases")
	taken, count := map[string]bool{}, 0
	if n != nil && n.Kind == yaml.SequenceNode {
		count = len(n.Content)
		for _, r := range n.Content {
			taken[text(r, "name")] = true
		}
	}
	name := "table_1"
	for i := 2; taken[name]; i++ {
		name = fmt.Sprint("table_", i)
	}
	release := fmt.Sprintf(`{name: %s, mechanism: %s`, name, draft.Quoted(v))
	if find(root, "budget", "spend") == nil {
		release += `, guarantee: {epsilon: "0.1"}`
	}
	release += "}"
	if count == 0 {
		return []Change{{Path: []string{"releases"}, Value: "\n- " + release}}, nil
	}
	return one([]string{"releases", strconv.Itoa(count)}, release)
}

// use declares a column as numbers, a category, or something that only expressions read.
func use(_ *yaml.Node, path []string, v string) ([]Change, error) {
	at := []string{"dataset", "columns", path[0]}
	switch v {
	case "":
		return one(at, "")
	case "number":
		return one(at, "{lower: null, upper: null, missing: drop}")
	case "category":
		return one(at, "{domain: [], missing: drop, outside: drop}")
	}
	return one(at, "{type: "+draft.Quoted(v)+"}")
}

// unit names the column that says whose row it is, "" for none.
func unit(root *yaml.Node, _ []string, v string) ([]Change, error) {
	if v == "" {
		return []Change{{Path: []string{"dataset", "unit"}}, {Path: []string{"dataset", "cap"}}, {Path: []string{"dataset", "fold"}}}, nil
	}
	if n := find(root, "dataset", "unit"); n != nil && n.Kind == yaml.MappingNode {
		return one([]string{"dataset", "unit", "column"}, draft.Quoted(v))
	}
	return one([]string{"dataset", "unit"}, "{column: "+draft.Quoted(v)+", name: person}")
}

// rows decides what becomes of the several rows of a unit.
func rows(root *yaml.Node, _ []string, v string) ([]Change, error) {
	unit, limit, folded := []string{"dataset", "unit", "rows"}, []string{"dataset", "cap"}, []string{"dataset", "fold"}
	switch v {
	case "one":
		return []Change{{Path: limit}, {Path: folded}, {Path: unit, Value: "1"}}, nil
	case "cap":
		return []Change{{Path: unit}, {Path: folded}, {Path: limit, Value: "{groups: 1, rows: 1}"}}, nil
	case "fold":
		var parts []string
		for _, name := range keys(find(root, "dataset", "columns")) {
			switch find(root, "dataset", "columns", name, "domain") {
			case nil:
				parts = append(parts, draft.Quoted(name)+": sum")
			default:
				parts = append(parts, draft.Quoted(name)+": mode")
			}
		}
		return []Change{{Path: unit}, {Path: limit}, {Path: folded, Value: "{" + strings.Join(parts, ", ") + "}"}}, nil
	}
	return nil, fmt.Errorf("rows: %q is no way", v)
}

// kind names the statistic of a release. It keeps the parameters that the new one has, too.
func kind(root *yaml.Node, path []string, v string) ([]Change, error) {
	at := []string{"releases", path[0]}
	changes := []Change{{Path: append(at, "mechanism"), Value: draft.Quoted(v)}}
	d, known := described()[v]
	for _, name := range keys(find(root, "releases", path[0], "params")) {
		if known && !d.Takes(name) {
			changes = append(changes, Change{Path: []string{"releases", path[0], "params", name}})
		}
	}
	return changes, nil
}

// by puts a column into the rows or the columns of a table, "" takes it out.
func by(root *yaml.Node, path []string, v string) ([]Change, error) {
	at := []string{"releases", path[0], "by"}
	all := texts(find(root, at...))
	i, err := strconv.Atoi(path[1])
	switch {
	case err != nil || i < 0:
		return nil, fmt.Errorf("by: %q is no place", path[1])
	case v == "" && i < len(all):
		all = slices.Delete(all, i, i+1)
	case v == "":
	case i < len(all):
		all[i] = v
	default:
		all = append(all, v)
	}
	if len(all) == 0 {
		return one(at, "")
	}
	return one(at, list(all))
}

// text is the scalar at a path, "" where there is none.
func text(n *yaml.Node, path ...string) string {
	if n == nil {
		return ""
	}
	if n = find(n, path...); n == nil || n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		return ""
	}
	return n.Value
}

// texts are the scalars of a list; a single one is a list, too.
func texts(n *yaml.Node) (out []string) {
	switch {
	case n == nil:
	case n.Kind == yaml.ScalarNode && n.Value != "":
		out = append(out, n.Value)
	case n.Kind == yaml.SequenceNode:
		for _, c := range n.Content {
			out = append(out, c.Value)
		}
	}
	return out
}

// keys are those of a mapping, in its order.
func keys(n *yaml.Node) (out []string) {
	if n != nil && n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			out = append(out, n.Content[i].Value)
		}
	}
	return out
}
