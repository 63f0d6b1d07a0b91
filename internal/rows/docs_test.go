package rows

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/rows/formula"
)

// exampleRow reads the row that the page is about from the page's first table.
func exampleRow(t *testing.T, page string) (columns []formula.Column, values []table.Values) {
	t.Helper()
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (number|category|text|bool|date|timestamp)([^|]*) \\| (.*) \\|$").FindAllStringSubmatch(page, -1) {
		name, kind, more, text := m[1], m[2], m[3], m[4]
		c := formula.Column{Name: name}
		v := table.Values{Kind: table.String, Codes: []int32{0}, Dict: []string{text}}
		if list, ok := strings.CutPrefix(more, ": "); ok {
			kind, c.Domain = "text", strings.Split(list, ", ")
		}
		for c.Type = formula.Number; c.Type.String() != kind; c.Type++ {
			if c.Type > formula.Timestamp {
				t.Fatalf("%s is a %s", name, kind)
			}
		}
		if text == "missing" {
			v.Valid = []byte{0}
		}
		columns, values = append(columns, c), append(values, v)
	}
	if len(columns) < 13 {
		t.Fatalf("the page's row has %d columns", len(columns))
	}
	return columns, values
}

// TestDocumentation runs every example of docs/expressions.md and compares what the page
// says.
func TestDocumentation(t *testing.T) {
	b, err := os.ReadFile("../../docs/expressions.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	columns, values := exampleRow(t, page)
	byName := map[string]table.Values{}
	for i, c := range columns {
		byName[c.Name] = values[i]
	}
	examples, refused, used := 0, 0, map[string]bool{}
	example, problem := regexp.MustCompile("^- `(.*)` → (.*)$"), regexp.MustCompile(`^\d+:\d+: `)
	for number, line := range strings.Split(page, "\n") {
		if m := example.FindStringSubmatch(line); m != nil {
			text, want := m[1], m[2]
			f, problems := formula.Check(text, columns)
			if problem.MatchString(want) {
				refused++
				if f != nil || problems[0].Error() != want {
					t.Errorf("line %d: %s: %v, the page says %s", number+1, text, problems, want)
				}
				continue
			}
			examples++
			if f == nil {
				t.Errorf("line %d: %s: %v", number+1, text, problems)
				continue
			}
			for _, name := range formula.FunctionNames() {
				if regexp.MustCompile(`\b` + name + `\(`).MatchString(text) {
					used[name] = true
				}
			}
			p, err := NewProgram(Spec{Columns: columns, Derived: []Derived{{Name: "the result", Formula: f}}, Outputs: []string{"the result"}})
			if err != nil {
				t.Fatal(err)
			}
			var in []table.Values
			for _, name := range p.Needs() {
				in = append(in, byName[name])
			}
			got := p.Evaluator().Eval(in, 1)
			if have := shown(read(&got.Columns[0], f.Type, 0), f.Type); have != want {
				t.Errorf("line %d: %s is %s, the page says %s", number+1, text, have, want)
			}
		}
	}
	if examples < 40 || refused < 9 {
		t.Errorf("%d examples and %d refusals were found", examples, refused)
	}
	for _, name := range formula.FunctionNames() {
		if !used[name] || !strings.Contains(page, "`"+name+"(") {
			t.Errorf("the page does not explain %s() with an example", name)
		}
	}
	for _, limit := range []string{strconv.Itoa(formula.MaxText/1000) + "," + fmt.Sprintf("%03d", formula.MaxText%1000) + " characters"} {
		if !strings.Contains(page, limit) {
			t.Errorf("the page does not say %s", limit)
		}
	}
	for _, label := range (&formula.Bins{Edges: []float64{0, 18, 35, 65, 120}, Below: true, Above: true}).Labels() {
		if !strings.Contains(page, "`"+label+"`") {
			t.Errorf("the page does not have the bin %s", label)
		}
	}
}

// shown writes a value as the page does.
func shown(v value, t formula.Type) string {
	switch {
	case !v.ok:
		return "missing"
	case t == formula.Number:
		return strconv.FormatFloat(v.x, 'g', -1, 64)
	case t == formula.Text:
		return strconv.Quote(v.text)
	case t == formula.Bool:
		return strconv.FormatBool(v.n == 1)
	case t == formula.Date:
		return time.Unix(v.n*86400, 0).UTC().Format(time.DateOnly)
	}
	return time.UnixMicro(v.n).UTC().Format("2006-01-02T15:04:05")
}
