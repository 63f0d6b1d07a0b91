package design

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/dprelease/dprelease/internal/data/whole"
	"github.com/dprelease/dprelease/internal/design/draft"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/output"
	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/report"
)

// The number of units of an invented table.
const fewest, usual, manyUnits = 10, 2000, 100_000

// invented shows what would be released if the table held invented rows.
type invented struct {
	*words
	Units  string
	Fewer  bool // than the job says, because more would take long
	Known  bool // whether the values without noise are known
	Tables []inventedTable
}

// inventedTable is one release from the invented table.
type inventedTable struct {
	Name    string
	Cells   []inventedCell
	More    int // that are not shown
	Sampled bool
	Blank   bool // some cells have no value
}

// inventedCell is one value: as it was invented, and with its noise.
type inventedCell struct {
	Label           string
	Truth, Value    float64
	Low, High       float64 // of the noise, in 95 of 100 cases
	Known, Blank    bool    // whether Truth is known; whether there is no value
	True, Shown, By string  // for people
}

// exact is an ε with which the noise is far below what a picture shows. It is for invented rows alone.
const exact = "10000"

// invent runs the job on a table of invented rows, and once more nearly without noise. Source, account, ledger and output are
// replaced by some of a folder that is thrown away, so nothing of the job's own is read, written or spent.
func (s *Session) invent(ctx context.Context, w *words, q question) (*invented, error) {
	j, err := s.read(q.Text)
	if err != nil {
		return nil, err
	}
	d := &j.Dataset
	if len(d.Tables) > 0 || d.Frame != nil || d.Collected != nil || d.Weights != nil || len(j.Series) > 0 ||
		slices.ContainsFunc(j.Samples, func(s job.Sample) bool { return s.Keep || s.ID != "" }) {
		return nil, errors.New(w.T("picture.not"))
	}
	n, err := strconv.Atoi(q.Rows)
	if err != nil {
		n = usual
	}
	out := &invented{words: w}
	if d.Size > 0 {
		n = int(min(d.Size, manyUnits))
	}
	n = max(fewest, min(n, manyUnits))
	out.Units, out.Fewer = strconv.Itoa(n), d.Size > int64(n)
	dir, err := os.MkdirTemp("", "dprelease-invented-")
	if err != nil {
		return nil, errors.New(w.T("picture.folder"))
	}
	defer os.RemoveAll(dir)
	table := filepath.Join(dir, "invented.csv")
	rows, err := inventRows(d, n)
	if err != nil {
		return nil, err
	}
	if err := whole.WriteFile(table, rows, 0o600); err != nil {
		return nil, errors.New(w.T("picture.folder"))
	}
	released, err := s.runInvented(ctx, q.Text, j, dir, "noisy", n)
	if err != nil {
		return nil, err
	}
	truth, err := s.runInvented(ctx, q.Text, j, dir, "exact", n, nearlyExact(j)...)
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	for _, r := range released.Report.Releases {
		public := output.Words(j.Publication)
		one := inventedTable{Name: public.Label(r.Name), Sampled: r.From != job.All}
		known := map[string]float64{}
		if out.Known = err == nil; out.Known {
			for _, v := range slices.Backward(public.ReleasedValues(r, output.ValuesOf(truth.Results)[r.Name])) { // of two, the first
				if !v.Suppressed {
					known[v.Key] = v.Value
				}
			}
		}
		one.fill(public.ReleasedValues(r, output.ValuesOf(released.Results)[r.Name]), known)
		out.Tables = append(out.Tables, one)
	}
	return out, nil
}

// onInvented are the changes that lead a job to the invented table in a folder, and away from everything of its own.
func onInvented(j *job.Job, dir, way string, n int) []Change {
	changes := []Change{
		{Path: []string{"dataset", "source"}, Value: "{path: " + draft.Quoted(filepath.Join(dir, "invented.csv")) + "}"},
		{Path: []string{"budget", "ledger"}, Value: draft.Quoted("sqlite:" + filepath.Join(dir, way, "budget.db"))},
		{Path: []string{"output"}, Value: "{dir: " + draft.Quoted(filepath.Join(dir, way, "out")) + ", formats: [json]}"},
		{Path: []string{"dataset", "id"}, Value: "invented"},
		{Path: []string{"engine"}}, {Path: []string{"lineage"}}, {Path: []string{"publication"}},
	}
	if j.Dataset.Size > 0 {
		changes = append(changes, Change{Path: []string{"dataset", "size"}, Value: strconv.Itoa(n)})
	}
	if j.Dataset.AtLeast > int64(n) {
		changes = append(changes, Change{Path: []string{"dataset", "at_least"}, Value: strconv.Itoa(n)})
	}
	return changes
}

// nearlyExact are the changes that take a job's noise and samples away.
func nearlyExact(j *job.Job) []Change {
	limit := "epsilon"
	if j.Budget.Limit.Rho != nil {
		limit = "rho"
	}
	changes := []Change{{Path: []string{"budget", "limit", limit}, Value: "1000000"}, {Path: []string{"budget", "spend"}},
		{Path: []string{"budget", "lifetime"}}}
	for i := range j.Releases {
		at := func(keys ...string) []string { return append([]string{"releases", strconv.Itoa(i)}, keys...) }
		if j.Releases[i].Measures != "" || j.Releases[i].Bounds != "" {
			continue // no release that the text names
		}
		key := "epsilon"
		if j.Releases[i].Guarantee.Rho != nil || j.Budget.Spend != nil && j.Budget.Spend.Rho != nil {
			key = "rho"
		}
		changes = append(changes, Change{Path: at("guarantee", key), Value: exact}, Change{Path: at("from")}, Change{Path: at("interval")},
			Change{Path: at("weight")})
	}
	return changes
}

// runInvented runs a job on the invented table in a folder, with some changes more. The table, the ledger and the output of the job
// itself are for the command run alone, so it refuses to run where one of them is left.
func (s *Session) runInvented(ctx context.Context, text string, of *job.Job, dir, way string, n int,
	more ...Change) (*pipeline.Outcome, error) {
	text, err := Edit(text, append(onInvented(of, dir, way, n), more...)...)
	if err != nil {
		return nil, err
	}
	j, err := s.read(text)
	if err != nil {
		return nil, err
	}
	at, err := pipeline.LedgerOf(j)
	if err != nil || at.Full() != "sqlite:"+filepath.Join(dir, way, "budget.db") ||
		j.Dataset.Source.Path != filepath.Join(dir, "invented.csv") || j.Output.Dir != filepath.Join(dir, way, "out") {
		return nil, errOwn
	}
	if err := os.Mkdir(filepath.Join(dir, way), 0o700); err != nil { // apart: a run looks for other ledgers beside its own
		return nil, errOwn
	}
	o := s.options()
	o.CreateLedger = true
	return pipeline.Run(ctx, j, o)
}

var errOwn = errors.New("this is no job on an invented table")

// inventRows writes a table of n units with values within the bounds and domains of the job. They are the same every time.
func inventRows(d *job.Dataset, n int) ([]byte, error) {
	rng := rand.New(rand.NewPCG(1, 2))
	type source struct {
		name string
		draw func() string
	}
	var sources []source
	unit := ""
	if d.Key.Column != "" {
		sources = append(sources, source{d.Key.Column, func() string { return unit }})
	}
	for _, c := range d.Columns {
		if c.Derived == nil && c.Lookup == nil && c.Joined == nil && c.Name != d.Key.Column && (d.Slice == nil || c.Name != d.Slice.Column) {
			sources = append(sources, source{c.Name, drawer(c, rng)})
		}
	}
	if d.Slice != nil {
		sources = append(sources, source{d.Slice.Column, func() string { return d.Slice.Is }})
	}
	if len(sources) == 0 {
		sources = append(sources, source{"row", func() string { return "1" }})
	}
	var b bytes.Buffer
	out := csv.NewWriter(&b)
	record := make([]string, len(sources))
	for k, s := range sources {
		record[k] = s.name
	}
	err := out.Write(record)
	for i := range n {
		unit = strconv.Itoa(i + 1)
		several := 1
		if d.Cap != nil || d.Folds() {
			several += int(5 * rng.Float64() * rng.Float64())
		}
		for range several {
			for k, s := range sources {
				record[k] = s.draw()
			}
			err = errors.Join(err, out.Write(record))
		}
	}
	out.Flush()
	return b.Bytes(), errors.Join(err, out.Error())
}

// drawer draws values of a column: as the job assumes them, or more small ones than large ones.
func drawer(c job.Column, rng *rand.Rand) func() string {
	switch {
	case len(c.Domain) > 0:
		return func() string { return c.Domain[int(float64(len(c.Domain))*rng.Float64()*(0.6+0.4*rng.Float64()))] }
	case c.Holds == job.Date || c.Holds == job.Timestamp:
		first := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
		layout := "2006-01-02"
		if c.Holds == job.Timestamp {
			layout = "2006-01-02T15:04:05"
		}
		return func() string { return first.Add(time.Duration(rng.IntN(730*24)) * time.Hour).Format(layout) }
	case c.Holds == job.Bool:
		return func() string { return strconv.FormatBool(rng.IntN(2) == 0) }
	case c.Lower == nil || c.Upper == nil:
		return func() string { return string(rune('a' + int(20*rng.Float64()*rng.Float64()))) }
	}
	low, _ := c.Lower.Float64()
	high, _ := c.Upper.Float64()
	if c.Bounds != nil {
		high = low + (high-low)/100 // the bound that the job names is far too large
	}
	decimals := 0
	if high-low < 20 {
		decimals = 3
	}
	return func() string {
		x := low + (high-low)*rng.Float64()*rng.Float64()
		if a := c.Assume; a != nil && a.Mean != nil && a.SD != nil {
			mean, _ := a.Mean.Float64()
			sd, _ := a.SD.Float64()
			x = min(max(mean+sd*rng.NormFloat64(), low), high)
		}
		return strconv.FormatFloat(x, 'f', decimals, 64)
	}
}

// mostCells bounds the cells of a table that a picture shows.
const mostCells = 24

// fill makes the cells of a release, with the values that are known without noise by their keys.
func (t *inventedTable) fill(values []report.Released, known map[string]float64) {
	t.More = max(0, len(values)-mostCells)
	for _, v := range values[:len(values)-t.More] {
		c := inventedCell{Label: cmp.Or(v.Label, t.Name), Value: v.Value, Low: v.Value - v.Noise, High: v.Value + v.Noise, Shown: v.Text}
		if v.Noise > 0 {
			c.By = "±\u202f" + figures(v.Noise, 3)
		}
		if c.Truth, c.Known = known[v.Key]; c.Known {
			c.True = report.Digits(c.Truth, v.Noise)
		}
		if v.Suppressed {
			c.Value, c.Low, c.High, c.By, c.Shown, c.Blank, t.Blank = 0, 0, 0, "", "–", true, true
		}
		t.Cells = append(t.Cells, c)
	}
}
