package pipeline

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/table"
	"github.com/dprelease/dprelease/samplers"
)

// frameError is something wrong with the public frame.
type frameError struct{ path, message, hint string }

func (e frameError) Error() string { return e.message }

// framed is a design that draws units of a public frame.
type framed interface {
	samplers.Design
	Frame() *samplers.Frame
}

// newFramed makes a multistage or stratified design over the job's frame. The
// frame is public (P5): reading it reads no private data.
func newFramed(j *job.Job, s job.Sample) (samplers.Design, error) {
	switch {
	case s.Method == job.Multistage:
		return newMultistage(j, s)
	case len(s.Rates) > 0:
		return newStrataRates(s)
	case s.Method == job.Stratified:
		return newStrataTakes(j, s)
	}
	return nil, fmt.Errorf("method: %s is not a sampling method", s.Method)
}

func newMultistage(j *job.Job, s job.Sample) (samplers.Design, error) {
	var columns []string
	stages := make([]samplers.Stage, len(s.Stages))
	for i, st := range s.Stages {
		stages[i] = samplers.Stage{Unit: st.Unit, Take: st.Take.Count, All: st.Take.All, AtMost: st.Short == job.ShortAll}
		if st.Unit != "" {
			columns = append(columns, st.Unit)
		}
	}
	f, err := readFrame(j, columns)
	if err != nil {
		return nil, err
	}
	return samplers.NewMultistage(f, stages)
}

// newStrataRates needs no sizes: the strata are those that have a rate.
func newStrataRates(s job.Sample) (samplers.Design, error) {
	units := make([]samplers.Unit, len(s.Rates))
	rates := make([]samplers.Rate, len(s.Rates))
	for i, r := range s.Rates {
		units[i] = samplers.Unit{Key: []string{r.Stratum}}
		var err error
		if rates[i], err = samplers.ParseRate(r.Rate.RatString()); err != nil {
			return nil, fmt.Errorf("rates: %s: %w", r.Stratum, err)
		}
	}
	f, err := samplers.NewFrame([]string{s.Strata}, units)
	if err != nil {
		return nil, err
	}
	return samplers.NewStratifiedPoisson(f, rates)
}

func newStrataTakes(j *job.Job, s job.Sample) (samplers.Design, error) {
	f, err := readFrame(j, []string{s.Strata})
	if err != nil {
		return nil, err
	}
	takes := make([]int64, f.Len())
	for _, t := range s.Takes {
		u := f.UnitOf(t.Stratum)
		if u < 0 {
			return nil, fmt.Errorf("take: stratum %q is not in the frame", t.Stratum)
		}
		takes[u] = t.Take.Count
		if t.Take.All {
			takes[u] = f.Unit(u).Records
		}
	}
	return samplers.NewStratifiedTake(f, takes)
}

func readFrame(j *job.Job, columns []string) (*samplers.Frame, error) {
	d := j.Dataset
	if d.Frame == nil {
		return nil, fmt.Errorf("needs dataset.frame, the public list of units")
	}
	f, err := os.Open(d.Frame.Path)
	if err != nil {
		return nil, frameError{path: ".path", message: "cannot be read: " + reasonOf(err)}
	}
	defer f.Close()
	frame, err := samplers.ReadFrame(f, columns, d.Frame.Records)
	if err != nil {
		return nil, frameError{message: strings.TrimPrefix(err.Error(), "frame: ")}
	}
	if d.Size > 0 && frame.Records() != d.Size {
		return nil, frameError{message: fmt.Sprintf("its units have %d records together, and dataset.size is %d", frame.Records(), d.Size)}
	}
	return frame, nil
}

// reasonOf is an error of the file system without the path.
func reasonOf(err error) string {
	if p, ok := err.(*os.PathError); ok {
		return p.Err.Error()
	}
	return err.Error()
}

// findUnits finds the unit of the public frame that each row lies in. Membership
// is public, so it may be read before the debit. A row in no unit has -1, which a
// design that needs every row refuses.
func (o *openedTable) findUnits(ctx context.Context, j *job.Job, d *draw) ([]int32, error) {
	design, ok := d.design.(framed)
	if !ok {
		return nil, nil
	}
	frame := design.Frame()
	columns := frame.Columns()
	units := make([]int32, 0, o.rows())
	finder := unitFinder{frame: frame, key: make([]string, len(columns)), known: map[string]int32{}, missing: noUnit, outside: noUnit}
	if frame.Records() == 0 { // rates by stratum: the column is private, and its rules hold
		strata, _ := j.Dataset.Column(columns[0])
		finder.missing, finder.outside = ruled(strata.Missing, frame), ruled(strata.Outside, frame)
	}
	err := o.table.Scan(ctx, table.ScanOptions{Columns: columns, Content: o.content}, func(b table.Batch) error {
		for row := range b.Rows {
			units = append(units, finder.find(b.Columns, row))
		}
		return nil
	})
	if err != nil {
		return nil, sourceFailure(ctx, j, err)
	}
	o.refused[d.name] = finder.refused
	return units, matches(j, frame, units)
}

// noUnit is a row that lies in no unit and is not drawn; refusedUnit one that must not
// be there.
const (
	noUnit      = -1
	refusedUnit = -2
)

// ruled is the unit of the rows whose stratum is missing, or not one of the domain.
func ruled(h job.Handling, frame *samplers.Frame) int32 {
	switch h.Rule {
	case job.Drop:
		return noUnit
	case job.Impute:
		return frame.UnitOf(h.Text)
	}
	return refusedUnit
}

// matches checks that every unit has as many rows as the public frame says. A
// frame without numbers, for Poisson rates by stratum, says nothing of them.
func matches(j *job.Job, frame *samplers.Frame, units []int32) error {
	if frame.Records() == 0 {
		return nil
	}
	counts := make([]int64, frame.Len())
	for _, u := range units {
		if u < 0 {
			return oneProblem(j, "dataset.frame", "does not match the table: a row lies in no unit of the frame", "the key columns and the frame must agree")
		}
		counts[u]++
	}
	for u, n := range counts {
		if unit := frame.Unit(int32(u)); n != unit.Records {
			return oneProblem(j, "dataset.frame", fmt.Sprintf("does not match the table: unit %q does not have the number of rows that the frame says (%d)",
				strings.Join(unit.Key, "/"), unit.Records), "")
		}
	}
	return nil
}

// unitFinder remembers the units of keys that it has seen.
type unitFinder struct {
	frame *samplers.Frame
	key   []string
	known map[string]int32
	buf   []byte
	// What becomes of a row without a key, and of one whose key is not in the frame.
	missing, outside int32
	refused          error // the first rule that was broken: told after the debit (P20)
}

func (f *unitFinder) find(columns []table.Values, row int) int32 {
	f.buf = f.buf[:0]
	for i := range columns {
		if columns[i].Null(row) {
			return f.settle(f.missing, errMissing, i)
		}
		start := len(f.buf)
		f.buf = appendText(f.buf, &columns[i], row)
		// The length keeps different tuples apart.
		f.buf = binary.LittleEndian.AppendUint32(f.buf, uint32(len(f.buf)-start))
	}
	if u, ok := f.known[string(f.buf)]; ok {
		return f.settle(u, errOutside, 0)
	}
	for i := range columns {
		f.key[i] = string(appendText(nil, &columns[i], row))
	}
	u := f.frame.UnitOf(f.key...)
	if u < 0 {
		u = f.outside
	}
	f.known[string(f.buf)] = u
	return f.settle(u, errOutside, 0)
}

// settle remembers that a rule was broken.
func (f *unitFinder) settle(u int32, broken func(string) *Failure, column int) int32 {
	if u == refusedUnit && f.refused == nil {
		f.refused = broken(f.frame.Columns()[column])
	}
	return max(u, noUnit)
}

// appendText writes a key as it stands in a frame: the text itself or a number.
func appendText(b []byte, v *table.Values, row int) []byte {
	switch {
	case v.Codes != nil:
		return append(b, v.Dict[v.Codes[row]]...)
	case v.Int64 != nil:
		return strconv.AppendInt(b, v.Int64[row], 10)
	}
	return strconv.AppendFloat(b, v.Float64[row], 'g', -1, 64)
}
