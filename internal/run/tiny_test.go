package run

import (
	"context"
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/planned"
)

// tiny opens tables that are the texts of CSV files. The first of each plan is written to its files and read from them; they
// say what the columns are. The rows of those that follow come from memory, and are held to the same.
type tiny struct {
	opened map[*planned.Plan]*OpenedTable
}

// open opens the tables of a plan. texts are the contents of their files, by path. The caller closes what it gets.
func (y *tiny) open(t *testing.T, p *planned.Plan, texts map[string]string) (*OpenedTable, error) {
	t.Helper()
	first := y.opened[p]
	if first == nil {
		for path, text := range texts {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		first, err := OpenTable(t.Context(), p, 0)
		if err != nil {
			return nil, err
		}
		if y.opened == nil {
			y.opened = map[*planned.Plan]*OpenedTable{}
		}
		y.opened[p] = first
		return first, nil
	}
	one := func(from *OpenedTable) (*OpenedTable, error) {
		view, o := p.Job.Of(from.name), *from
		o.rows, o.Content, o.units, o.refused = inMemory(t, from, texts[view.Dataset.Source.Path]), nil, map[string][]int32{}, map[string]error{}
		return &o, o.held(t.Context(), p, view)
	}
	if len(first.parts) == 0 {
		return one(first)
	}
	all := *first
	all.parts, all.units, all.refused = nil, nil, nil
	for _, from := range first.parts {
		o, err := one(from)
		if err != nil {
			return nil, err
		}
		all.parts = append(all.parts, o)
	}
	return &all, nil
}

// inMemory returns the rows of a CSV file with the columns of a table.
func inMemory(t *testing.T, of *OpenedTable, text string) rowSource {
	t.Helper()
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(lines) == 0 {
		t.Fatalf("%q: %v", text, err)
	}
	s := &oneBlock{columns: lines[0], rows: len(lines) - 1}
	for k, name := range lines[0] {
		c, _ := of.Table.Column(name)
		v := table.Values{Kind: c.Kind, Scale: c.Scale, Unit: c.Unit, Valid: make([]byte, (len(lines)+7)/8), DictID: table.NewDictID()}
		for i, line := range lines[1:] {
			x := 0.0
			if line[k] != "" {
				v.Valid[i>>3] |= 1 << (i & 7)
				if c.Kind == table.Float {
					if x, err = strconv.ParseFloat(line[k], 64); err != nil {
						t.Fatal(err)
					}
				}
			}
			switch c.Kind {
			case table.Float:
				v.Float64 = append(v.Float64, x)
			case table.String:
				v.Codes, v.Dict = append(v.Codes, int32(i)), append(v.Dict, line[k])
			default:
				t.Fatalf("column %s is %v", name, c.Kind)
			}
		}
		s.values = append(s.values, v)
	}
	return s
}

// oneBlock is a table in memory.
type oneBlock struct {
	columns []string
	rows    int
	values  []table.Values
}

func (s *oneBlock) Rows() int64 { return int64(s.rows) }

// Scan gives copies of the values: whoever prepares a block may write to it.
func (s *oneBlock) Scan(_ context.Context, o table.ScanOptions, visit func(table.Batch) error) error {
	b := table.Batch{Block: table.Block{Rows: s.rows}, Picked: table.Pick{All: true}}
	if o.Pick != nil {
		var err error
		if b.Picked, err = o.Pick(b.Block); err != nil {
			return err
		}
	}
	var picked []int
	for i := range s.rows {
		if b.Picked.All || slices.Contains(b.Picked.Rows, uint32(i)) {
			picked = append(picked, i)
		}
	}
	if b.Rows = len(picked); b.Rows == 0 {
		return nil
	}
	for _, name := range o.Columns {
		from := s.values[slices.Index(s.columns, name)]
		v := from
		v.Float64, v.Codes, v.Valid = nil, nil, make([]byte, (b.Rows+7)/8)
		for i, row := range picked {
			v.Valid[i>>3] |= from.Valid[row>>3] >> (row & 7) & 1 << (i & 7)
			if from.Codes != nil {
				v.Codes = append(v.Codes, from.Codes[row])
			} else {
				v.Float64 = append(v.Float64, from.Float64[row])
			}
		}
		b.Columns = append(b.Columns, v)
	}
	return visit(b)
}

// Six worlds go through files as well, each table of them: what a run does with rows from memory is what it does with those of
// a file. A table with another unit is told apart.
func TestRowsInMemoryAreThoseOfTheFile(t *testing.T) {
	same := func(a, b law) bool {
		for key := range a.mass {
			if math.Abs(a.mass[key]-b.mass[key]) > 1e-9 {
				return false
			}
		}
		return len(a.mass) == len(b.mass)
	}
	for _, dataset := range []string{foldBoth, capOne, capTwo} {
		for _, relation := range []string{"add-remove", "replace-one"} {
			w := world{t: t, file: filepath.Join(t.TempDir(), "tiny.csv"), dataset: dataset, relation: relation,
				sample: "{method: poisson, rate: 0.5}", release: "mechanism: count, by: [g], guarantee: {epsilon: 1}, from: s"}
			memory := w
			memory.plans = map[string]*plan.Priced{}
			memory.law([][]row{{{0, 0}}, {{0, 0}}}) // the first table of its plan
			for _, units := range [][][]row{{{{2, 0}}, {{-1, 1}, {2, 1}}}, {{{2, 0}, {2, 1}}, {{0, 1}}}} {
				file := w // with a plan of its own
				got, want := memory.law(units), file.law(units)
				if !same(got, want) {
					t.Errorf("%s, %s, %v: %v from memory, %v from a file", dataset, relation, units, got.mass, want.mass)
				}
				if same(memory.law([][]row{units[0], {{2, 0}}}), want) {
					t.Errorf("%s, %s, %v: nothing tells another table apart", dataset, relation, units)
				}
			}
		}
	}
}
