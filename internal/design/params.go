package design

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/internal/command"
	"github.com/dprelease/dprelease/internal/job"
)

// statistics are the built-in mechanisms, those first that offices know best.
func (m *maker) statistics() (out []choice) {
	for _, name := range command.BuiltinNames() {
		d := described()[name]
		c := choice{Value: name, Label: m.or("mechanism."+name, name), Help: d.Summary, Foreign: true}
		if d.Grouped {
			c.Foreign = m.or("mechanism."+name, "") == ""
		}
		out = append(out, c)
	}
	slices.SortStableFunc(out, func(a, b choice) int { return strings.Compare(strings.ToLower(a.Label), strings.ToLower(b.Label)) })
	return out
}

// params makes the parameters that a mechanism declares: those that it needs or that the job says, and the others apart.
func (m *maker) params(t *tableForm, names []string, mechanism, i string) {
	d, ok := described()[mechanism]
	if !ok {
		return
	}
	var schema struct {
		Required   []string `json:"required"`
		Properties map[string]struct {
			Type        string   `json:"type"`
			Enum        []string `json:"enum"`
			Description string   `json:"description"`
		} `json:"properties"`
	}
	if json.Unmarshal(d.Params, &schema) != nil {
		return
	}
	const first = "column"
	order := slices.Sorted(maps.Keys(schema.Properties))
	slices.SortStableFunc(order, func(a, b string) int {
		rank := func(s string) int {
			switch {
			case s == first:
				return 0
			case slices.Contains(schema.Required, s):
				return 1
			}
			return 2
		}
		return rank(a) - rank(b)
	})
	for _, name := range order {
		p, needed := schema.Properties[name], name == first || slices.Contains(schema.Required, name)
		if name == "by" || name == "interval" || name == "difference" {
			continue // keys of the release, and what the host decides
		}
		c := m.control("text", "yaml", "param."+name, "releases", i, "params", name)
		c.Label, c.Help, c.Foreign = m.or("param."+name, name), p.Description, true
		switch {
		case p.Enum != nil:
			var options []choice
			for _, v := range append([]string{""}, p.Enum...) {
				options = append(options, choice{Value: v, Label: v})
			}
			options[0].Label = m.T("default")
			c = m.choices(c, c.Value, options...)
			c.Kind = "choice"
		case p.Type == "string" && needed:
			var options []choice
			for _, v := range names {
				options = append(options, choice{Value: v, Label: v})
			}
			c.Name = pointer("text", "releases", i, "params", name)
			c = m.choices(c, c.Value, options...)
			c.Kind = "choice"
		case p.Type == "string":
			c.Name, c.Hints = pointer("text", "releases", i, "params", name), "names"
		default:
			if n := find(m.root, "releases", i, "params", name); n != nil && n.Kind != yaml.ScalarNode {
				c.Value = flow(n)
			}
		}
		if c.Problem == "" {
			c.Problem = m.problems[job.Key(job.Key(job.Item("releases", t.Index), "params"), name)]
		}
		if needed || c.Value != "" {
			t.What = append(t.What, c)
		} else {
			t.More = append(t.More, c)
		}
	}
}

// flow writes a value on one line.
func flow(n *yaml.Node) string {
	one := *n
	one.Style = yaml.FlowStyle
	b, err := yaml.Marshal(&one)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
