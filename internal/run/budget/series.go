package budget

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/run"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy/periods"
)

// Series is the ledger as the runs of one series use it (P31).
type Series struct {
	*Budget
	step     *planned.Step
	measured []*run.Measurement // of the steps from the first one on, without a gap
}

// Series reads what was measured of the series of a job. It returns ErrMoved where another run began the series since
// this one was planned.
func (b *Budget) Series(ctx context.Context) (*Series, error) {
	s := &Series{Budget: b, step: planned.StepOf(b.plan.Job)}
	id := s.step.Plans[0]
	n, err := b.Ledger.Node(ctx, id)
	switch {
	case err != nil:
		return nil, failure.OfLedger(ctx, err)
	case (n == nil) != (b.plan.Nodes[id] == nil):
		return nil, ErrMoved
	}
	for i := 0; n != nil && i <= s.step.At; i++ {
		found, err := b.Ledger.Look(ctx, s.step.Plans[i], ledger.SeriesContent)
		if err != nil {
			return nil, failure.OfLedger(ctx, err)
		}
		if found.Found == nil {
			break
		}
		m, err := b.measurement(ctx, found.Found)
		if err != nil {
			return nil, err
		}
		s.measured = append(s.measured, m)
	}
	return s, nil
}

// measurement reads the sealed bytes of a step.
func (b *Budget) measurement(ctx context.Context, r *ledger.Release) (*run.Measurement, error) {
	files, err := b.Ledger.Output(ctx, r.ID)
	if err != nil {
		return nil, failure.OfLedger(ctx, err)
	}
	at := slices.IndexFunc(files, func(f ledger.File) bool { return f.Path == run.MeasurementFile })
	if at < 0 {
		return nil, failure.New(failure.ExitLedger, ledger.CodeTampered, "a step of the series holds no measurement")
	}
	m, err := run.ReadMeasurement(files[at].Data)
	if err != nil {
		return nil, failure.New(failure.ExitLedger, ledger.CodeTampered, "a measurement of the series cannot be read")
	}
	return m, nil
}

// Measured are the measurements up to the step of the job.
func (s *Series) Measured() []*run.Measurement { return s.measured }

// Missing lists the steps that were not measured, up to that of the job.
func (s *Series) Missing() (out []int) {
	for i := len(s.measured); i <= s.step.At; i++ {
		out = append(out, i)
	}
	return out
}

// InOrder refuses a step whose earlier steps are missing, unless this run makes them first.
func (s *Series) InOrder(catchUp bool) error {
	missing := s.Missing()
	if len(missing) < 2 || catchUp {
		return nil
	}
	var names []string
	for _, i := range missing[:len(missing)-1] {
		names = append(names, s.step.Periods[i])
	}
	more := ""
	if len(names) > 6 {
		more = " and " + names[len(names)-1]
		names = append(names[:5], "…")
	}
	return failure.New(failure.ExitBudget, ledger.CodeSeries, "%s cannot be measured before %s%s: the steps of a series are made in order; "+
		"run those first, or give --catch-up; nothing was drawn and nothing debited",
		s.step.Periods[s.step.At], strings.Join(names, ", "), more)
}

// Measure makes the missing steps, one after another.
//
// # Contract
//
// Each step is debited before its first random bit and sealed before the next one begins. A slice that a step reads
// again is as it was when it was measured, unless the job accepts revisions: what was compared is what was added
// up. What is wrong with a row is told only after the series was debited. Proof: ../series.proof.md. // P31, P33
func (s *Series) Measure(ctx context.Context, set *run.Mechanisms, t *run.OpenedTable) error {
	missing := s.Missing()
	if len(missing) == 0 {
		return nil
	}
	var bills []periods.Series
	for _, r := range s.plan.Releases() {
		bills = append(bills, r.Series.Bill())
	}
	if len(s.asks.Steps) != 1 || !reflect.DeepEqual(s.asks.Steps[0].Does.Measured, bills) ||
		s.asks.Steps[0].Begins != ledger.KindSeries || !reflect.DeepEqual(s.asks.Steps[0].Parts, s.step.Parts()) {
		return errUnsound
	}
	if err := t.Load(ctx); err != nil {
		return run.SourceFailure(ctx, s.plan.Job, err)
	}
	of, err := t.Slices(ctx, s.plan, s.step.Periods[:s.step.At+1])
	if err != nil {
		return run.SourceFailure(ctx, s.plan.Job, err)
	}
	sums := map[int]*run.SliceSums{} // each slice is read once, also for several steps
	for _, at := range missing {
		if err := s.read(ctx, set, of, sums, at); err != nil {
			return err
		}
		if err := s.measure(ctx, of.View(at), sums, at); err != nil {
			return err
		}
	}
	return nil
}

// read adds up the slices of a step that were not read yet. It refuses a slice that changed since it was measured.
func (s *Series) read(ctx context.Context, set *run.Mechanisms, of *run.Slices, sums map[int]*run.SliceSums, at int) error {
	key := table.Key(s.Ledger.ContentKey())
	for _, i := range of.Reads(at) {
		if sums[i] == nil {
			one, err := of.Sum(ctx, set, i, s.adds(i, at), key)
			if err != nil {
				return run.SourceFailure(ctx, s.plan.Job, err)
			}
			sums[i] = one
		}
		if i < len(s.measured) && digest(sums[i]) != s.measured[i].Slice && s.plan.Job.Series[0].Revised != job.RevisedAccept {
			return failure.New(failure.ExitBudget, ledger.CodeRevised,
				"the slice %s holds other rows, or the same in another order, than when it was measured: "+
					"a step of a series adds up all slices before it, and its price holds for slices that stay as they are. "+
					"Put the rows back, end the series and begin a second one, or say revised: accept in a new one; nothing was drawn and nothing debited",
				s.step.Periods[i])
		}
	}
	if err := failed(s.plan, sums, at); err != nil && at > 0 { // the series is paid for, and this step loses nothing
		f := failure.As(run.CodeOf(ctx, err), failure.ExitBug, "INTERNAL",
			"the slices could not be added up"+failure.SpentOnly).(*failure.Failure)
		return failure.New(f.Exit, f.Code,
			"%s; %s was not measured: mend the table and run it again, which costs nothing; "+
				"a job that says otherwise of its columns is another series",
			strings.TrimSuffix(f.Message, failure.SpentOnly), s.step.Periods[at])
	}
	return nil
}

// adds reports whether a step of this run, from one on, adds up a slice.
func (s *Series) adds(slice, from int) bool {
	for at := from; at <= s.step.At; at++ {
		if slices.Contains(run.Adds(s.plan, at), slice) {
			return true
		}
	}
	return false
}

// digest is the content of a slice as a measurement holds it.
func digest(s *run.SliceSums) string { return hex.EncodeToString(s.Whole[:]) }

// failed returns why a slice of a step was not added up.
func failed(p *planned.Plan, sums map[int]*run.SliceSums, at int) error {
	for _, i := range run.Adds(p, at) {
		if sums[i].Failed != nil {
			return sums[i].Failed
		}
	}
	return nil
}

// measure makes one step.
func (s *Series) measure(ctx context.Context, t *run.OpenedTable, sums map[int]*run.SliceSums, at int) (err error) {
	one := &Budget{plan: s.plan, options: s.options, Ledger: s.Ledger, key: s.step.Plans[at], columns: columnTags(s.plan, s.Ledger, t)}
	q := Pinned(s.asks, s.plan, t)
	q.Steps[0].Does.At = int64(at) + 1
	q.Account.Slice.Is, q.SliceKind = s.step.Periods[at], t.SliceKind(s.plan.Job)
	q.Plan, q.Again, q.Lease, q.Content, q.Revise = one.key, s.options.Again, s.options.Lease, ledger.SeriesContent, true
	// The columns of the slice are known before the debit: the slice was read.
	if err := one.identified(ctx, t, func(table.Key, []string) (table.Fingerprint, map[string]table.Fingerprint, error) {
		return sums[at].Whole, sums[at].Each, nil
	}); err != nil {
		return run.SourceFailure(ctx, s.plan.Job, err)
	}
	q.Columns, q.Tables = one.columns, s.tables
	standing, err := one.wait(ctx, t, func() (ledger.Standing, error) { return s.Ledger.Debit(ctx, q) })
	switch {
	case err != nil:
		return err
	case standing.Found != nil: // another run was faster
		m, err := s.measurement(ctx, standing.Found)
		if err == nil {
			s.measured = append(s.measured, m)
		}
		if err == nil && at == 0 {
			return ErrMoved // it may have begun the series in another way
		}
		return err
	}
	one.Ticket = standing.Ticket
	defer func() {
		if recover() != nil {
			err = run.ErrCrashed
		}
		err = failure.AfterDebit(err)
	}()
	s.options.Reach("step-debited")
	leased, release := s.Ledger.Keep(ctx, one.Ticket)
	defer func() {
		release()
		one.End(ctx)
	}()
	var m *run.Measurement
	var made []periods.Series
	if err = failed(s.plan, sums, at); err == nil {
		m, made, err = run.Measure(s.plan, at, sums)
	}
	if err != nil {
		known := run.CodeOf(leased, err)
		one.Failed(ctx, t, known, false)
		return known
	}
	s.options.Reach("step-drawn")
	m.Slice = digest(sums[at])
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	one.Ticket.Columns = one.columns
	one.Ticket.Made = map[string]ledger.Made{q.Steps[0].Node: {Measured: made}}
	if err := s.Ledger.Seal(ctx, one.Ticket, ledger.SeriesContent, []ledger.File{{Path: run.MeasurementFile, Data: data}}); err != nil {
		return failure.OfLedger(ctx, err)
	}
	one.sealed = true
	s.options.Reach("step-sealed")
	s.measured = append(s.measured, m)
	return nil
}

// Publishing turns the budget to the publication of what was measured: it draws nothing, costs nothing, and is known
// by the measurements that it is made of.
func (s *Series) Publishing() error {
	h := sha256.New()
	for _, m := range s.measured {
		data, err := json.Marshal(m)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		h.Write(sum[:])
	}
	f := table.Fingerprint(h.Sum(nil))
	s.content, s.columns = &f, nil
	return nil
}
