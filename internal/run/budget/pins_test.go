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

	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/internal/run/budget"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/ledger"
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
	then      map[string]string // those that the second job finds changed
	code      string            // the code of the refusal, CodePinned where it is not said
	refused   bool              // also without the pin: something else refuses the second job
	adds      bool              // the job that goes on pays a part of what the state costs
}

const panelTable = "hh,hh2,who,members\n0001,a,x,1\n0002,b,y,2\n0003,c,x,1\n"

const panelOne = `version: 1
job: JOB
dataset:
  id: people
  source: {path: DIR/t.csv SOURCE}
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
  source: {path: DIR/t.csv, missing: [MISSING] SOURCE}
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

const partsOne = `version: 1
job: JOB
dataset:
  id: people
  source: {path: DIR/t.csv}
  relation: RELATION
  MORE
  columns: {who: {domain: [x, y]}, age: {domain: [x, y]}, members: {lower: 0, upper: 5}}
budget: {ledger: "sqlite:DIR/l.db", limit: {epsilon: 100, delta: 1e-3}}
samples: {SAMPLE}
releases:
  - {name: members-JOB, FROM mechanism: mean, params: {column: members}, guarantee: {epsilon: "0.5"}}
output: {dir: DIR/out-JOB, formats: [csv]}
`

const populations = `version: 1
job: JOB
dataset:
  id: people
  relation: replace-one
  size: 3
  unit: {column: hh, name: household}
  population: POPULATION
  tables:
    persons: {source: {path: DIR/t.csv}, unit: {rows: 1}, columns: {members: {lower: 0, upper: 5}}}
    homes: {source: {path: DIR/t.csv}, unit: {rows: 1}, columns: {members: {lower: 0, upper: 5}}}
budget: {ledger: "sqlite:DIR/l.db", limit: {epsilon: 100, delta: 1e-3}}
releases:
  - {name: members-JOB, table: persons, mechanism: mean, params: {column: members}, guarantee: {epsilon: "1"}}
output: {dir: DIR/out-JOB, formats: [csv]}
`

const seriesOne = `version: 1
job: series
dataset:
  id: people
  source: {path: DIR/t.csv SOURCE}
  relation: add-remove
  slice: {column: month, is: "2026-0WAVE"}
  unit: {UNIT}
  fold: {who: mode}
  columns: {COLUMNS who: {domain: [x, y]}}
budget: {ledger: "sqlite:DIR/l.db", limit: {rho: "5"}}
series:
  s: {periods: {from: 2026-01, to: 2026-04}, publish: [month, running], periods_of_unit: {at_most: 2, binds: definition}}
releases:
  - {name: members, series: s, mechanism: count, by: [who], guarantee: {rho: "0.5"}}
output: {dir: DIR/out-JOB, formats: [csv]}
`

const collectedOne = `version: 1
job: JOB
dataset:
  id: people
  source: {path: DIR/t.csv}
  relation: replace-one
  size: SIZE
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
  source: {path: DIR/t.csv SOURCE}
  relation: add-remove
  slice: {column: SLICE}
  unit: {column: hh, name: household, rows: 1}
  columns: {COLUMNS who: {domain: [x, y]}}
budget: {ledger: "sqlite:DIR/l.db", limit: {epsilon: 100, delta: 1e-3}}
releases:
  - {name: members-JOB, mechanism: count, by: [who], guarantee: {epsilon: "0.5"}}
output: {dir: DIR/out-JOB, formats: [csv]}
`

var slicedKept = strings.NewReplacer("{column: SLICE}", "{column: month, is: IS}", "releases:", "samples: {s: {SAMPLE}}\nreleases:", "mechanism", "from: s, mechanism").Replace(slicedOne)

// swapped is a table with its first two rows in the other order.
func swapped(table string) string {
	lines := strings.SplitAfter(table, "\n")
	lines[1], lines[2] = lines[2], lines[1]
	return strings.Join(lines, "")
}

const (
	keep = "method: poisson, rate: 0.5, keep: true"
	use  = "method: kept, id: ID"

	noSample = "is not a sample of this data set" // a problem of the job, which has no code of its own
)

// Files whose columns have two meanings, by how the job says that they are written.
var (
	numbers = map[string]string{"t.csv": "hh,hh2,who\n1,a,x\n\"1.000\",b,y\n\"2.000\",c,x\n"}
	written = map[string]string{"t.csv": "hh,who,sex,day,part\n1,x,x,02/03/2026,1.000\n2,y,y,02/03/2026,1.000\n3,x,x,05/06/2026,2.000\n"}
	towns   = map[string]string{"t.csv": "hh,who,sex,town\n1,x,x,H\xe5land\n2,y,y,H\xe5land\n3,x,x,Oslo\n"}
	umlauts = map[string]string{"t.csv": "hh,hh2,who\nM\xfcller,a,x\nH\xe5nsel,b,y\nZ\xf6llner,c,x\n"}
	monthly = map[string]string{"t.csv": "hh,hh2,who,month\n1,a,x,2026-01\n2,b,y,2026-01\n1,a,x,2026-02\n3,c,y,2026-02\n2,b,x,2026-03\n"}
	parts   = map[string]string{"t.csv": "hh,who,age,members\n1,x,y,1\n2,y,y,2\n3,x,y,3\n4,y,x,1\n5,x,x,2\n6,y,x,3\n",
		"who.csv": "who,n\nx,3\ny,3\n", "age.csv": "age,n\nx,3\ny,3\n", "many.csv": "who,n\nx,30\ny,30\n", "more.csv": "who,n\nx,30\ny,40\n"}
)

const (
	asNumbers  = "hh: {type: number}, "
	twoStrata  = "relation: add-remove\n  collected: {method: stratified, strata: COLUMN, rates: {RATES}, allocation: fixed-before}"
	twoStages  = "collected: {method: multistage, stages: [{unit: who, take: 2}, {take: 3}], allocation: equal}\n  size: 6\n  frame: {path: FRAME, records: n}"
	keptFrame  = "size: 6\n  frame: {path: who.csv, records: n}"
	noSamples  = "samples: {SAMPLE}\n"
	ofStrata   = "s: {method: stratified, strata: who, take: {x: 1, y: 2}}"
	looksItUp  = "lookups: {again: {path: t.csv, key: hh2, match: who, public: true, columns: {members: {heading: members, lower: 0, upper: 5}}}}"
	homesTable = `    homes:
      source: {path: DIR/t.csv}
      unit: {rows: 1}
      columns: {COLUMNS members: {lower: 0, upper: 5}}
`
	homesCount = `  - {name: homes, from: panel, table: homes, mechanism: count, params: {noise: gaussian}, guarantee: {epsilon: "1", delta: "1e-4"}}
`
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
	{name: "panel/numbers that are written otherwise", pin: "the form of keys in dataset.unit", job: panelOne, files: numbers,
		first:  []string{"UNIT", oneRow, "COLUMNS", asNumbers, "SOURCE", ", decimal: ',', thousands: '.'"},
		second: []string{"UNIT", oneRow, "COLUMNS", asNumbers}},
	{name: "panel/texts in another encoding", pin: "the form of keys in dataset.unit", job: panelOne, files: umlauts,
		first:  []string{"UNIT", oneRow, "SOURCE", ", encoding: windows-1252"},
		second: []string{"UNIT", oneRow, "SOURCE", ", encoding: windows-1250"}},
	{name: "tables/a private table less", pin: "dataset.unit of table homes", job: panelTables, refused: true,
		second: []string{homesTable, "", homesCount, ""}},
	{name: "tables/a private table more", pin: waves, job: panelTables, refused: true,
		first: []string{homesTable, "", homesCount, ""}, second: []string{}},
	{name: "kept/numbers that are written otherwise", pin: "the form of keys in dataset.unit", job: keptOne, adds: true, files: numbers,
		first:   []string{"UNIT", manyRows, "SAMPLE", keep, "MORE", folds, "COLUMNS", asNumbers},
		second:  []string{"UNIT", manyRows, "SAMPLE", use, "MORE", folds, "COLUMNS", asNumbers, "SOURCE", ", decimal: ',', thousands: '.'"},
		control: []string{"UNIT", manyRows, "SAMPLE", use, "MORE", folds, "COLUMNS", asNumbers}},
	{name: "kept/the rows in another order", pin: "the content", job: keptOne, adds: true, code: "SAMPLE_CHANGED", refused: true,
		then:  map[string]string{"t.csv": swapped(panelTable)},
		first: []string{"UNIT", oneRow, "SAMPLE", keep}, second: []string{"UNIT", oneRow, "SAMPLE", use}, control: []string{"UNIT", oneRow, "SAMPLE", use}},
	{name: "kept/another relation", pin: "the account", job: keptOne, adds: true, code: noSample, refused: true,
		first: []string{"UNIT", oneRow, "SAMPLE", keep}, control: []string{"UNIT", oneRow, "SAMPLE", use},
		second: []string{"UNIT", oneRow, "SAMPLE", use, "RELATION", "replace-one\n  size: 3", ", by: [who]", ", by: [who], where: \"who == 'x'\""}},
	{name: "kept/another slice", pin: "the slice", job: slicedKept, adds: true, code: noSample, refused: true, files: monthly,
		first: []string{"SAMPLE", keep, "IS", "2026-01"}, second: []string{"SAMPLE", use, "IS", "2026-02"}, control: []string{"SAMPLE", use, "IS", "2026-01"}},
	{name: "series/another row in a slice that was measured", pin: "the content", job: seriesOne, code: ledger.CodeRevised, refused: true,
		files: monthly, then: map[string]string{"t.csv": monthly["t.csv"] + "9,z,x,2026-01\n"},
		first: []string{"UNIT", manyRows}, second: []string{"UNIT", manyRows}},
	{name: "collected/another size", pin: "dataset.size", job: collectedOne, adds: true,
		first: []string{"UNIT", foldedRows, "POPULATION", "30"}, second: []string{"UNIT", foldedRows, "POPULATION", "30", "SIZE", "4"}},
	{name: "collected/other strata", pin: "dataset.collected", job: partsOne, adds: true, files: parts,
		first: strata("who", "x: 0.1, y: 0.2"), second: strata("age", "x: 0.1, y: 0.2")},
	{name: "collected/rates of other strata", pin: "dataset.collected", job: partsOne, adds: true, files: parts,
		first: strata("who", "x: 0.1, y: 0.2"), second: strata("who", "x: 0.2, y: 0.1")},
	{name: "collected/another frame", pin: "dataset.frame", job: partsOne, adds: true, files: parts,
		first: stages("many.csv"), second: stages("more.csv")},
	{name: "series/another column of the unit", pin: "a series", job: seriesOne, files: monthly, code: ledger.CodeSeries, refused: true,
		first: []string{"UNIT", manyRows}, second: []string{"UNIT", strings.Replace(manyRows, "hh,", "hh2,", 1)}},
	{name: "series/texts and then numbers", pin: "a series", job: seriesOne, files: monthly, code: ledger.CodeSeries, refused: true,
		first: []string{"UNIT", manyRows}, second: []string{"UNIT", manyRows, "COLUMNS", asNumbers}},
	{name: "series/texts in another encoding", pin: "the slices", job: seriesOne, files: monthly, code: ledger.CodeAccount, refused: true,
		first: []string{"UNIT", manyRows}, second: []string{"UNIT", manyRows, "SOURCE", ", encoding: latin1"}},
	{name: "kept columns/those of another design", pin: "the columns", job: partsOne, adds: true, files: parts, code: ledger.CodeKept, refused: true,
		first: []string{noSamples, "", "FROM", "", "RELATION", "replace-one", "MORE", "size: 6"}, second: fromStrata},
	{name: "kept columns/another population", pin: "the population", job: populations, adds: true, code: ledger.CodeKept, refused: true,
		second: []string{"POPULATION", "homes"}},
	{name: "private tables/one as a lookup", pin: "the tables", job: partsOne, adds: true, code: ledger.CodeSame, refused: true,
		first: []string{noSamples, "", "FROM", "", "MORE", ""}, second: []string{noSamples, "", "FROM", "", "MORE", looksItUp, ", members: {lower: 0, upper: 5}}", "}"}},
	{name: "collected/another population", pin: "dataset.collected", job: collectedOne, adds: true,
		first: []string{"UNIT", oneRow, "POPULATION", "30"}, second: []string{"UNIT", oneRow, "POPULATION", "40"}},
	{name: "collected/another column of the unit", pin: "dataset.unit", job: collectedOne, adds: true,
		first: []string{"UNIT", oneRow, "POPULATION", "30"}, second: []string{"UNIT", strings.Replace(oneRow, "hh,", "hh2,", 1), "POPULATION", "30"}},
	{name: "slices/texts and then numbers", pin: "slices", job: slicedOne, code: ledger.CodeAccount, adds: true, refused: true,
		first: []string{"SLICE", "members, is: '1'"}, second: []string{"SLICE", "members, is: '1'", "COLUMNS", "members: {type: number}, "}},
	{name: "slices/days that are written otherwise", pin: "slices", job: slicedOne, files: written, code: ledger.CodeAccount, adds: true, refused: true,
		first:  []string{"SLICE", "day, is: '2026-03-02'", "COLUMNS", "day: {type: date}, ", "SOURCE", ", dates: 02/01/2006"},
		second: []string{"SLICE", "day, is: '2026-02-03'", "COLUMNS", "day: {type: date}, ", "SOURCE", ", dates: 01/02/2006", "by: [who]", "by: [sex]", "who:", "sex:"}},
	{name: "slices/numbers that are written otherwise", pin: "slices", job: slicedOne, files: written, code: ledger.CodeAccount, adds: true, refused: true,
		first:  []string{"SLICE", "part, is: '1000'", "COLUMNS", "part: {type: number}, ", "SOURCE", ", decimal: ',', thousands: '.'"},
		second: []string{"SLICE", "part, is: '1'", "COLUMNS", "part: {type: number}, ", "by: [who]", "by: [sex]", "who:", "sex:"}},
	{name: "slices/texts in another encoding", pin: "slices", job: slicedOne, files: towns, code: ledger.CodeAccount, adds: true, refused: true,
		first:  []string{"SLICE", "town, is: Håland", "SOURCE", ", encoding: latin1"},
		second: []string{"SLICE", "town, is: Hĺland", "SOURCE", ", encoding: windows-1250", "by: [who]", "by: [sex]", "who:", "sex:"}},
	{name: "slices/another column", pin: "slices", job: slicedOne, code: ledger.CodeSame, adds: true, refused: true,
		first: []string{"SLICE", "members, is: '1'"}, second: []string{"SLICE", "hh2, is: 'a'"}},
}

// strata, stages and fromStrata say how a table was collected, or is drawn from.
func strata(column, rates string) []string {
	return []string{noSamples, "", "FROM", "", "relation: RELATION", strings.NewReplacer("COLUMN", column, "RATES", rates).Replace(twoStrata), "MORE", ""}
}

func stages(frame string) []string {
	return []string{noSamples, "", "FROM", "", "RELATION", "replace-one", "MORE", strings.Replace(twoStages, "FRAME", frame, 1)}
}

var fromStrata = []string{"SAMPLE", ofStrata, "FROM", "from: s,", "RELATION", "replace-one", "MORE", keptFrame}

const (
	oneRow     = "column: hh, name: household, rows: 1"
	manyRows   = "column: hh, name: household, missing: drop"
	foldedRows = manyRows + "}\n  " + "fold: {who: mode"
	folds      = "fold: {who: mode}"
)

var otherwise = []string{"UNIT", "", "COLUMNS", "", "PATTERNS", "in: 1", "POPULATION", "persons", "RELATION", "add-remove", "MISSING", "''", "MORE", "", "SOURCE", "", "SIZE", "3"}

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
	s.files = files
	s.write(files)
	return s
}

// write writes tables.
func (s *scene) write(files map[string]string) {
	s.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			s.Fatal(err)
		}
	}
}

// run runs a job, or plans it.
func (s *scene) run(name string, wave int, says []string, verb func(context.Context, *pipeline.Job, pipeline.Options) error) error {
	s.Helper()
	for i, text := range says {
		if text == use {
			says = slices.Clone(says)
			says[i] = strings.Replace(use, "ID", s.kept(), 1)
		}
	}
	text := strings.NewReplacer(append(slices.Clone(says), otherwise...)...).Replace(s.job)
	text = strings.NewReplacer("DIR", s.dir, "JOB", name, "WAVE", fmt.Sprint(wave)).Replace(text)
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
	var f *failure.Failure
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
				s.write(c.then)
				err := s.run("two", 2, c.second, runs)
				s.write(s.files)
				switch got := codeOf(err); {
				case !twin && !strings.Contains(got, want):
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
				if err := s.run("three", 2, control, runs); !twin && err != nil {
					t.Errorf("a job that says the same: %v", err)
				}
				if !twin && !c.adds && s.spent().Cmp(before) != 0 {
					t.Error("the same panel was paid for twice")
				}
			}
		})
	}
}
