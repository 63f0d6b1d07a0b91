package budget_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/run/budget"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/pipeline"
)

// cell is one thing that decides which unit gets which part of a state that outlives a run, and two truthful jobs
// that differ in it.
type cell struct {
	name, pin string
	job       string            // with the placeholders of change
	first     []string          // placeholders and what the first job says
	second    []string          // the same of the second one, which must be refused
	control   []string          // the same of one that may go on with the state, nil for none
	files     map[string]string // the tables, by name
	code      string            // the code of the refusal, CodePinned where it is not said
	refused   bool              // also without the pin: something else refuses the second job
	adds      bool              // the job that goes on pays a part of what the state costs
}

const panelTable = "hh,hh2,who,members\n0001,a,x,1\n0002,b,y,2\n0003,c,x,1\n"

const panelOne = `version: 1
job: JOB
dataset:
  id: people
  source: {path: DIR/t.csv}
  relation: add-remove
  unit: {UNIT}
  columns: {COLUMNS who: {domain: [x, y]}}
budget: {ledger: "sqlite:DIR/l.db", limit: {epsilon: 100, delta: 1e-3}}
samples:
  panel: {method: rotation, waves: 4, PATTERNS, wave: WAVE}
releases:
  - {name: members, from: panel, mechanism: count, by: [who], params: {noise: gaussian}, guarantee: {epsilon: "1", delta: "1e-4"}}
output: {dir: DIR/out-JOB, formats: [csv]}
`

const panelTables = `version: 1
job: JOB
dataset:
  id: people
  relation: add-remove
  unit: {column: hh, name: household}
  population: POPULATION
  tables:
    persons:
      source: {path: DIR/t.csv}
      unit: {UNIT rows: 1}
      columns: {COLUMNS who: {domain: [x, y]}}
    homes:
      source: {path: DIR/t.csv}
      unit: {rows: 1}
      columns: {COLUMNS members: {lower: 0, upper: 5}}
budget: {ledger: "sqlite:DIR/l.db", limit: {epsilon: 100, delta: 1e-3}}
samples:
  panel: {method: rotation, waves: 4, in: 1, wave: WAVE}
releases:
  - {name: members, from: panel, table: persons, mechanism: count, by: [who], params: {noise: gaussian}, guarantee: {epsilon: "1", delta: "1e-4"}}
  - {name: homes, from: panel, table: homes, mechanism: count, params: {noise: gaussian}, guarantee: {epsilon: "1", delta: "1e-4"}}
output: {dir: DIR/out-JOB, formats: [csv]}
`

const keptOne = `version: 1
job: JOB
dataset:
  id: people
  source: {path: DIR/t.csv, missing: [MISSING]}
  relation: RELATION
  unit: {UNIT}
  MORE
  columns: {COLUMNS who: {domain: [x, y]}}
budget: {ledger: "sqlite:DIR/l.db", limit: {epsilon: 100, delta: 1e-3}}
samples:
  s: {SAMPLE}
releases:
  - {name: members-JOB, from: s, mechanism: count, by: [who], guarantee: {epsilon: "0.5"}}
output: {dir: DIR/out-JOB, formats: [csv]}
`

const collectedOne = `version: 1
job: JOB
dataset:
  id: people
  source: {path: DIR/t.csv}
  relation: replace-one
  size: 3
  unit: {UNIT}
  collected: {method: srswor, population: POPULATION}
  columns: {COLUMNS who: {domain: [x, y]}}
budget: {ledger: "sqlite:DIR/l.db", limit: {epsilon: 100, delta: 1e-3}}
releases:
  - {name: members-JOB, mechanism: count, by: [who], guarantee: {epsilon: "0.5"}}
output: {dir: DIR/out-JOB, formats: [csv]}
`

const slicedOne = `version: 1
job: JOB
dataset:
  id: people
  source: {path: DIR/t.csv}
  relation: add-remove
  slice: {column: SLICE}
  unit: {column: hh, name: household, rows: 1}
  columns: {COLUMNS who: {domain: [x, y]}}
budget: {ledger: "sqlite:DIR/l.db", limit: {epsilon: 100, delta: 1e-3}}
releases:
  - {name: members-JOB, mechanism: count, by: [who], guarantee: {epsilon: "0.5"}}
output: {dir: DIR/out-JOB, formats: [csv]}
`

const (
	keep = "method: poisson, rate: 0.5, keep: true"
	use  = "method: kept, id: ID"
)

const waves = "the waves, and what is released in each"

// cells list, for each kind of state, what decides which unit gets which part of it. // P36
var cells = []cell{
	{name: "panel/another column of the unit", pin: "dataset.unit", job: panelOne,
		first: []string{"UNIT", "column: hh, name: household, rows: 1"}, second: []string{"UNIT", "column: hh2, name: household, rows: 1"}},
	{name: "panel/texts and then numbers", pin: "the form of keys in dataset.unit", job: panelOne,
		first: []string{"UNIT", "column: hh, name: household, rows: 1"}, second: []string{"UNIT", "column: hh, name: household, rows: 1", "COLUMNS", "hh: {type: number}, "}},
	{name: "panel/other weights of patterns", pin: waves, job: panelOne,
		first:  []string{"UNIT", "column: hh, name: household, rows: 1", "PATTERNS", "patterns: [[1, 2], [3, 4]]"},
		second: []string{"UNIT", "column: hh, name: household, rows: 1", "PATTERNS", "patterns: [[3, 4], [1, 2]]"}, refused: true},
	{name: "panel/the rule for missing keys", pin: "the rule for rows without a unit", job: strings.Replace(panelOne, "columns:", "fold: {who: mode}\n  columns:", 1),
		first: []string{"UNIT", "column: hh, name: household, missing: drop"}, second: []string{"UNIT", "column: hh, name: household, missing: refuse"}},
	{name: "tables/another column in one table", pin: "dataset.unit of table persons", job: panelTables,
		second: []string{"UNIT", "column: hh2, "}},
	{name: "tables/texts and then numbers", pin: "the form of keys in dataset.unit of table homes", job: panelTables, refused: true,
		second: []string{"COLUMNS", "hh: {type: number}, "}},
	{name: "tables/another population", pin: "dataset.population", job: panelTables,
		second: []string{"POPULATION", "homes"}},
	{name: "kept/another column of the unit", pin: "dataset.unit", job: keptOne, adds: true,
		first: []string{"UNIT", oneRow, "SAMPLE", keep}, second: []string{"UNIT", strings.Replace(oneRow, "hh,", "hh2,", 1), "SAMPLE", use}, control: []string{"UNIT", oneRow, "SAMPLE", use}},
	{name: "kept/the rule for missing keys", pin: "the rule for rows without a unit", job: keptOne, adds: true,
		first: []string{"UNIT", manyRows, "SAMPLE", keep, "MORE", folds}, second: []string{"UNIT", "column: hh, name: household, missing: refuse", "SAMPLE", use, "MORE", folds},
		control: []string{"UNIT", manyRows, "SAMPLE", use, "MORE", folds}},
	{name: "kept/which texts are no key", pin: "dataset.source.missing", job: keptOne, adds: true,
		first: []string{"UNIT", manyRows, "SAMPLE", keep, "MORE", folds}, second: []string{"UNIT", manyRows, "SAMPLE", use, "MORE", folds, "MISSING", "'', '0001'"},
		control: []string{"UNIT", manyRows, "SAMPLE", use, "MORE", folds}},
	{name: "kept/texts and then numbers", pin: "the form of keys in dataset.unit", job: keptOne, adds: true,
		first: []string{"UNIT", manyRows, "SAMPLE", keep, "MORE", folds}, second: []string{"UNIT", manyRows, "SAMPLE", use, "MORE", folds, "COLUMNS", "hh: {type: number}, "},
		control: []string{"UNIT", manyRows, "SAMPLE", use, "MORE", folds}},
	{name: "collected/another population", pin: "dataset.collected", job: collectedOne, adds: true,
		first: []string{"UNIT", oneRow, "POPULATION", "30"}, second: []string{"UNIT", oneRow, "POPULATION", "40"}},
	{name: "collected/another column of the unit", pin: "dataset.unit", job: collectedOne, adds: true,
		first: []string{"UNIT", oneRow, "POPULATION", "30"}, second: []string{"UNIT", strings.Replace(oneRow, "hh,", "hh2,", 1), "POPULATION", "30"}},
	{name: "slices/texts and then numbers", pin: "slices", job: slicedOne, code: ledger.CodeAccount, adds: true, refused: true,
		first: []string{"SLICE", "members, is: '1'"}, second: []string{"SLICE", "members, is: '1'", "COLUMNS", "members: {type: number}, "}},
	{name: "slices/another column", pin: "slices", job: slicedOne, code: ledger.CodeSame, adds: true, refused: true,
		first: []string{"SLICE", "members, is: '1'"}, second: []string{"SLICE", "hh2, is: 'a'"}},
}

const (
	oneRow   = "column: hh, name: household, rows: 1"
	manyRows = "column: hh, name: household, missing: drop"
	folds    = "fold: {who: mode}"
)

var otherwise = []string{"UNIT", "", "COLUMNS", "", "PATTERNS", "in: 1", "POPULATION", "persons", "RELATION", "add-remove", "MISSING", "''", "MORE", ""}

// scene is a folder with the tables and the ledger of one cell.
type scene struct {
	*testing.T
	cell
	dir string
}

func newScene(t *testing.T, c cell) *scene {
	s := &scene{t, c, t.TempDir()}
	files := c.files
	if files == nil {
		files = map[string]string{"t.csv": panelTable}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// run runs a job, or plans it.
func (s *scene) run(name string, wave int, says []string, verb func(context.Context, *pipeline.Job, pipeline.Options) error) error {
	s.Helper()
	replace := []string{"DIR", s.dir, "JOB", name, "WAVE", fmt.Sprint(wave)}
	for i, text := range says {
		if text == use {
			says = slices.Clone(says)
			says[i] = strings.Replace(use, "ID", s.kept(), 1)
		}
	}
	text := strings.NewReplacer(append(append(replace, says...), otherwise...)...).Replace(s.job)
	path := filepath.Join(s.dir, name+".yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
	j, err := pipeline.Load(path, func(string) (string, bool) { return "", false })
	if err != nil {
		s.Fatalf("%s: %v", name, err)
	}
	return verb(context.Background(), j, options())
}

func runs(ctx context.Context, j *pipeline.Job, o pipeline.Options) error {
	_, err := pipeline.Run(ctx, j, o)
	return err
}

func codeOf(err error) string {
	var f *pipeline.Failure
	if errors.As(err, &f) {
		return f.Code
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// kept returns the id of the sample that the first job kept.
func (s *scene) kept() string {
	s.Helper()
	l := s.ledger()
	defer l.Close()
	all, err := l.Nodes(context.Background(), 0)
	if err != nil || len(all) != 1 {
		s.Fatalf("%v, %v", all, err)
	}
	return all[0].ID
}

func (s *scene) ledger() *ledger.Ledger {
	s.Helper()
	at, err := ledger.ParseAddress("sqlite:"+filepath.Join(s.dir, "l.db"), "")
	if err != nil {
		s.Fatal(err)
	}
	l, err := ledger.Open(context.Background(), at, ledger.Options{ReadOnly: true})
	if err != nil {
		s.Fatal(err)
	}
	return l
}

// spent returns the sum that was spent according to the ledger of the scene.
func (s *scene) spent() *big.Rat {
	s.Helper()
	l := s.ledger()
	defer l.Close()
	all, err := l.OfDataset(context.Background(), "people")
	if err != nil {
		s.Fatal(err)
	}
	sum := new(big.Rat)
	for _, a := range all {
		sum.Add(sum, a.Spent[0])
	}
	return sum
}

// Of two truthful jobs that use one state at the lower price, and differ in one thing that decides which unit gets which
// part of it, the second one is refused before its debit. The same job with another file goes on. A twin that forgets the
// one pin is not refused, so each pin is needed. // P36
func TestStatesArePinned(t *testing.T) {
	for _, c := range cells {
		t.Run(c.name, func(t *testing.T) {
			defer budget.Forget("")
			for _, twin := range []bool{false, true} {
				s := newScene(t, c)
				if twin {
					budget.Forget(c.pin)
				}
				if err := s.run("one", 1, c.first, runs); err != nil {
					t.Fatalf("the first job: %v", err)
				}
				before := s.spent()
				want := c.code
				if want == "" {
					want = ledger.CodePinned
				}
				err := s.run("two", 2, c.second, runs)
				switch got := codeOf(err); {
				case !twin && got != want:
					t.Errorf("the second job is not refused with %s: %v", want, err)
				case !twin && c.code == "" && !strings.Contains(err.Error(), c.pin):
					t.Errorf("the refusal does not name %s: %v", c.pin, err)
				case twin && !c.refused && got == want:
					t.Errorf("the second job is refused for another reason than %s: %v", c.pin, err)
				}
				if !twin && s.spent().Cmp(before) != 0 {
					t.Error("the refusal came after the debit")
				}
				control := c.control
				if control == nil {
					control = c.first
				}
				if err := s.run("three", 3, control, runs); !twin && err != nil {
					t.Errorf("a job that says the same: %v", err)
				}
				if !twin && !c.adds && s.spent().Cmp(before) != 0 {
					t.Error("the same panel was paid for twice")
				}
			}
		})
	}
}
