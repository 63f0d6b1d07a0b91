package design

import (
	"errors"
	"regexp"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// A period is the end of a condition: rest && day >= date('2026-01-01') && day <= date('2026-03-31').
var (
	upTo  = regexp.MustCompile(`^(?:(.*) && )?(?:date\()?([A-Za-z_][A-Za-z0-9_]*)\)? <= date\('(\d{4}-\d\d-\d\d)'\)$`)
	since = regexp.MustCompile(`^(?:(.*) && )?(?:date\()?([A-Za-z_][A-Za-z0-9_]*)\)? >= date\('(\d{4}-\d\d-\d\d)'\)$`)
	plain = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// period is a condition whose end limits one column to some days.
type period struct{ rest, column, from, to string }

func readPeriod(where string) (p period) {
	p.rest = strings.TrimSpace(where)
	if m := upTo.FindStringSubmatch(p.rest); m != nil {
		p.rest, p.column, p.to = m[1], m[2], m[3]
	}
	if m := since.FindStringSubmatch(p.rest); m != nil && (p.column == "" || p.column == m[2]) {
		p.rest, p.column, p.from = m[1], m[2], m[3]
	}
	return p
}

// write returns the condition. A timestamp is compared by its day.
func (p period) write(timestamp bool) string {
	column := p.column
	if timestamp {
		column = "date(" + column + ")"
	}
	var parts []string
	if rest := p.rest; rest != "" {
		if (strings.Contains(rest, "||") || strings.Contains(rest, "?")) && !enclosed(rest) {
			rest = "(" + rest + ")"
		}
		parts = append(parts, rest)
	}
	if p.from != "" {
		parts = append(parts, column+" >= date('"+p.from+"')")
	}
	if p.to != "" {
		parts = append(parts, column+" <= date('"+p.to+"')")
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return strings.Join(parts, " && ")
}

// enclosed reports whether one pair of brackets holds a whole condition.
func enclosed(text string) bool {
	depth, quote := 0, byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '(':
			depth++
		case c == ')':
			depth--
		}
		if depth == 0 && i < len(text)-1 {
			return false
		}
	}
	return depth == 0 && quote == 0 && strings.HasPrefix(text, "(")
}

// days returns the column that periods limit: the one that the condition names, or the first that holds days.
func days(root *yaml.Node, said string) (column string, timestamp bool) {
	for _, name := range keys(find(root, "dataset", "columns")) {
		kind := text(root, "dataset", "columns", name, "type")
		if (kind == "date" || kind == "timestamp") && plain.MatchString(name) && (said == "" || said == name) {
			return name, kind == "timestamp"
		}
	}
	return "", false
}

// period makes the two days of a release's period, where a column holds days.
func (m *maker) period(nth string) []control {
	p := readPeriod(text(m.root, "releases", nth, "where"))
	if column, _ := days(m.root, p.column); column == "" {
		return nil
	}
	from, to := m.control("text", "day", "period.from", nth, "from"), m.control("text", "day", "period.to", nth, "to")
	from.Value, to.Value = p.from, p.to
	return []control{from, to}
}

// day sets one end of the period of a release, "" takes it away.
func day(root *yaml.Node, path []string, v string) ([]Change, error) {
	at := []string{"releases", path[0], "where"}
	p := readPeriod(text(root, at...))
	var timestamp bool
	if p.column, timestamp = days(root, p.column); p.column == "" {
		return nil, errors.New("no column holds days")
	}
	if _, err := time.Parse("2006-01-02", v); v != "" && err != nil {
		return nil, errors.New("a day is written as 2026-01-31")
	}
	switch path[1] {
	case "from":
		p.from = v
	case "to":
		p.to = v
	}
	return one(at, written(p.write(timestamp)))
}
