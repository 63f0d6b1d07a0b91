package design

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/internal/command"
	"github.com/dprelease/dprelease/internal/job"
)

// families are the groups of statistics, in the order in which offices ask for them. The texts say who is in each.
var families = []string{"counts", "totals", "spread", "models", "limits"}

// statistics are the built-in mechanisms by family.
func (m *maker) statistics() (out []choice) {
	all := command.BuiltinNames()
	for _, family := range families {
		for _, name := range strings.Fields(m.T("family." + family + ".of")) {
			if slices.Contains(all, name) {
				d := described()[name]
				label := m.Or("mechanism."+name, "")
				out = append(out, choice{Value: name, Label: cmp.Or(label, name), Help: d.Summary, Group: m.T("family." + family),
					Foreign: !d.Grouped || label == ""})
			}
		}
	}
	return out
}

// fitting returns the columns that a parameter can name: those that the job uses as numbers or as categories, as the
// mechanism describes its parameter.
func (m *maker) fitting(description string) (out []string) {
	numbers, categories := strings.Contains(description, "num"), strings.Contains(description, "categor")
	for _, section := range []string{"columns", "derive"} {
		for _, name := range keys(find(m.root, "dataset", section)) {
			n := find(m.root, "dataset", section, name)
			category := find(n, "domain") != nil || find(n, "bins") != nil
			number := find(n, "lower") != nil || find(n, "bounds") != nil
			if category && (categories || !numbers) || number && (numbers || !categories) {
				out = append(out, name)
			}
		}
	}
	return out
}

// params makes the parameters that a mechanism declares: those that it needs or that the job says, and the others apart.
func (m *maker) params(t *tableForm, mechanism, i string) {
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
		c.Label, c.Help, c.Foreign = m.Or("param."+name, name), p.Description, true
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
			fits := m.fitting(p.Description)
			for _, v := range fits {
				options = append(options, choice{Value: v, Label: v})
			}
			if c.Help, c.Foreign = p.Description, true; len(fits) == 0 {
				c.Help, c.Foreign = m.T("param.none"), false
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
