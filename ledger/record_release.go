package ledger

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/dprelease/dprelease/privacy"
)

// The records about releases and what was spent, and what each means.

type debitBody struct {
	stamp
	Account  int64     `json:"account"`
	Plan     string    `json:"plan"`
	Job      string    `json:"job"`
	Digest   string    `json:"digest"`
	Again    bool      `json:"again,omitempty"`
	Epsilon  float64   `json:"epsilon"`
	Delta    float64   `json:"delta"`
	Cost     []string  `json:"cost"`
	Releases []Charge  `json:"releases"`
	Draws    []Draw    `json:"draws,omitempty"`
	Panel    *panelUse `json:"panel,omitempty"`
	Pins     []Pinned  `json:"pins,omitempty"`  // of the states that it begins
	Keeps    []string  `json:"keeps,omitempty"` // in which the neighbours that the job protects agree
	Slice    string    `json:"slice,omitempty"` // that is debited, of an account with slices
	// SliceKind is the type as which the values of the column of the slices were read.
	SliceKind SliceKind `json:"slice_kind,omitempty"`
	// Series is set for a step of a series. Cost is then that of a unit's life.
	Series *seriesDebit `json:"series,omitempty"`
}

func (*debitBody) kind() string { return kindDebit }

func (r *debitBody) enter(b *books, seq int64) error {
	a, err := b.of(r.Account)
	if err != nil {
		return err
	}
	cost, err := a.readCost(r.Cost)
	switch {
	case err != nil:
		return err
	case (a.Slice.Column == "") != (r.Slice == ""):
		return fmt.Errorf("a debit of a slice that its account does not have")
	case (r.Slice == "") != (r.SliceKind == "") || a.SliceKind != "" && a.SliceKind != r.SliceKind:
		return fmt.Errorf("a debit of a slice whose column is read otherwise than before")
	case slices.ContainsFunc(b.plans[r.Plan], func(o *Release) bool { return o.State == Debited }):
		return fmt.Errorf("a debit beside one of the same plan that was not given up")
	}
	a.SliceKind = r.SliceKind
	if err := b.inSlice(a, r.Slice); err != nil {
		return err
	}
	if err := b.draw(seq, a, r.Draws, cost); err != nil {
		return err
	}
	if err := b.pin(seq, r.Pins); err != nil {
		return err
	}
	if r.Panel != nil {
		if err := b.panel(seq, a, r.Panel); err != nil {
			return err
		}
	}
	if r.Series != nil {
		if err := r.Series.admit(b, seq, r); err != nil {
			return err
		}
	}
	if r.Series != nil && !r.Series.paid() {
		if err := r.Series.enter(b, a, cost); err != nil {
			return err
		}
	} else {
		a.Charge(cost)
		for _, d := range r.Draws {
			a.InSlice.Collected = a.InSlice.Collected || d.Collected && r.Slice != ""
		}
		b.keepSlice(a)
	}
	rel := &Release{ID: seq, Account: a.ID, Slice: r.Slice, Plan: r.Plan, State: Debited, token: 1}
	b.releases[seq] = rel
	b.plans[r.Plan] = append(b.plans[r.Plan], rel)
	b.changed.releases = append(b.changed.releases, rel)
	return a.decideKept(r.Keeps)
}

// readCost reads a cost in the account's units, no part of which gives something back.
func (a *Account) readCost(texts []string) (privacy.Cost, error) {
	cost, err := parseRats(texts)
	if err != nil || !a.isCost(cost) {
		return nil, fmt.Errorf("a cost that is not in the units of its account, or gives something back")
	}
	return cost, nil
}

// decideKept decides the columns that an account keeps with its first job, and holds later
// ones to them.
func (a *Account) decideKept(own []string) error {
	if a.Keeps == nil {
		a.Keeps = columnSet(own)
	}
	if !within(a.Keeps, own) {
		return fmt.Errorf("it is about releases that do not keep what their account keeps")
	}
	return nil
}

// Draw is the part of a debit that is about one kept sample. Amounts are exact.
type Draw struct {
	Sample string `json:"sample"`
	Name   string `json:"name,omitempty"`   // set by the job that drew it, as are the next two
	Event  string `json:"event,omitempty"`  // the design
	Design string `json:"design,omitempty"` // what else is public of it
	// Collected says that the draw made the table, and has no rows of its own.
	Collected bool   `json:"collected,omitempty"`
	Epsilon   string `json:"sample_epsilon"` // what this job spends on the sample
	Delta     string `json:"sample_delta"`
	// What the draw costs the population in all, this job included, and what of it
	// this job is charged, in the account's units.
	ChargedEpsilon string   `json:"charged_epsilon"`
	ChargedDelta   string   `json:"charged_delta"`
	Cost           []string `json:"cost"`
}

// begun is the sample that the draw begins.
func (d *Draw) begun(debit int64, a *Account) *Sample {
	return &Sample{ID: d.Sample, Account: a.ID, Slice: a.Slice.Is, Debit: debit, Name: d.Name, Event: d.Event, Design: d.Design,
		Spent: zero(), Charged: zero(), Ready: d.Collected}
}

// amounts returns what the job spends on the sample, and what the sample has been charged with
// it.
func (d *Draw) amounts() (step, charged Limit, err error) {
	step, err1 := parseLimit(d.Epsilon, d.Delta)
	charged, err2 := parseLimit(d.ChargedEpsilon, d.ChargedDelta)
	if errors.Join(err1, err2) != nil || !step.Finite() || !charged.Finite() {
		return step, charged, fmt.Errorf("a debit for sample %s without an amount", d.Sample)
	}
	return step, charged, nil
}

// draw adds a debit to the sums of its kept samples.
func (b *books) draw(seq int64, a *Account, draws []Draw, cost privacy.Cost) error {
	sum := a.nothing()
	for _, d := range draws {
		s, err := b.drawn(seq, a, &d)
		if err != nil {
			return err
		}
		step, charged, err := d.amounts()
		if err != nil {
			return err
		}
		paid, err := a.readCost(d.Cost)
		if err != nil {
			return err
		}
		if slices.Contains(b.changed.samples, s) {
			return fmt.Errorf("a debit for sample %s twice", s.ID)
		}
		sum = sumOf(sum, paid)
		s.Spent, s.Charged = s.Spent.Plus(step), charged
		s.Uses++
		b.changed.samples = append(b.changed.samples, s)
	}
	for i := range sum {
		if sum[i].Cmp(cost[i]) > 0 {
			return fmt.Errorf("a debit below what its samples cost")
		}
	}
	return nil
}

// drawn finds the sample of a draw, or begins it.
func (b *books) drawn(seq int64, a *Account, d *Draw) (*Sample, error) {
	s := b.samples[d.Sample]
	switch {
	case d.Event != "" && s != nil:
		return nil, fmt.Errorf("sample %s is drawn twice", d.Sample)
	case d.Event != "":
		s = d.begun(seq, a)
		b.samples[d.Sample] = s
		return s, nil
	case s == nil:
		return nil, fmt.Errorf("a debit for a sample %s that was never drawn", d.Sample)
	}
	if err := s.usable(a.ID, a.Slice.Is); err != nil {
		return nil, fmt.Errorf("a debit for a sample %s that was not stored, or belongs to another account", d.Sample)
	}
	return s, nil
}

type sealBody struct {
	stamp
	Release int64        `json:"release"`
	Content string       `json:"content"`
	Archive string       `json:"archive"`
	Files   []Sum        `json:"files"`
	Samples []sealedRows `json:"samples,omitempty"`
	// Columns holds a mark of all uses of each column that was read, by the SHA-256 of its name.
	Columns map[string]string `json:"columns,omitempty"`
}

// sealedRows identifies the bytes that hold the rows of a kept sample, and the table that they come from.
type sealedRows struct {
	Sample  string `json:"sample"`
	Content string `json:"content"`
	SHA256  string `json:"sha256"` // of the encrypted rows
}

func (*sealBody) kind() string { return kindSeal }

func (r *sealBody) enter(b *books, _ int64) error {
	rel, err := b.release(r.Release, Debited)
	switch {
	case err != nil:
		return err
	case r.Content == "" || r.Archive == "":
		return fmt.Errorf("a seal without content or bytes")
	case slices.ContainsFunc(b.plans[rel.Plan], func(o *Release) bool { return o.Content == r.Content }):
		return fmt.Errorf("a second release of the same plan from the same content")
	}
	if err := b.keep(rel.ID, r.Samples); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(r.Columns)) {
		b.columns[name] = columnMark{rel.ID, r.Columns[name]}
		b.changed.columns = append(b.changed.columns, name)
	}
	rel.State, rel.Content, rel.archive = Sealed, r.Content, r.Archive
	return nil
}

// keep takes note that a seal stored the rows of the samples that its release drew.
func (b *books) keep(debit int64, rows []sealedRows) error {
	for _, r := range rows {
		s := b.samples[r.Sample]
		if s == nil || s.Debit != debit || s.Ready || r.Content == "" || r.SHA256 == "" {
			return fmt.Errorf("the rows of a sample that its release did not draw")
		}
		s.Ready, s.Content, s.digest = true, r.Content, r.SHA256
		b.changed.samples = append(b.changed.samples, s)
	}
	for _, s := range b.samples {
		if s.Debit == debit && !s.Ready {
			return fmt.Errorf("a seal without the rows of a sample that is kept")
		}
	}
	return nil
}

type publishBody struct {
	stamp
	Release int64 `json:"release"`
}

func (*publishBody) kind() string { return kindPublish }

func (r *publishBody) enter(b *books, _ int64) error {
	rel, err := b.release(r.Release, Sealed)
	if err == nil {
		rel.State = Published
	}
	return err
}

type abandonBody struct {
	stamp
	Release int64 `json:"release"`
}

func (*abandonBody) kind() string { return kindAbandon }

func (r *abandonBody) enter(b *books, _ int64) error {
	rel, err := b.release(r.Release, Debited)
	if err == nil {
		rel.State = Abandoned
		rel.token++
	}
	return err
}

// chargeBody adds the cost of releases that were made elsewhere.
type chargeBody struct {
	stamp
	Account int64     `json:"account"`
	Charges []charged `json:"charges"`
	Keeps   []string  `json:"keeps,omitempty"` // in which the neighbours that they protect agree
	Reason  string    `json:"reason"`
}

// charged is one cost, and the slices that it is added to: none in an account without.
type charged struct {
	Cost   []string `json:"cost"` // exact, in the account's units
	Slices []string `json:"slices,omitempty"`
}

func (*chargeBody) kind() string { return kindCharge }

func (r *chargeBody) enter(b *books, _ int64) error {
	a, err := b.of(r.Account)
	if err != nil {
		return err
	}
	if r.Reason == "" || len(r.Charges) == 0 {
		return fmt.Errorf("a charge without a cost or a reason")
	}
	costs, err := r.costs()
	if err == nil {
		err = a.fits(costs)
	}
	if err == nil {
		err = a.decideKept(r.Keeps)
	}
	if err != nil {
		return err
	}
	if a.Slice.Column == "" {
		a.Charge(costs[0].Cost)
		return nil
	}
	all, err := inBuckets(costs)
	if err != nil {
		return err
	}
	for _, c := range all {
		after, err := a.chargeBucket(b.slices[a.ID][c.name], c.costs, b.charged)
		if err != nil {
			return err
		}
		b.setBucket(a.ID, c.name, after)
	}
	return nil
}

// costs lists the costs slice by slice.
func (r *chargeBody) costs() (out []SliceCost, err error) {
	for _, c := range r.Charges {
		cost, err := parseRats(c.Cost)
		if err != nil {
			return nil, fmt.Errorf("a charge without a cost")
		}
		if len(c.Slices) == 0 {
			out = append(out, SliceCost{Cost: cost})
		}
		for _, is := range c.Slices {
			out = append(out, SliceCost{is, cost})
		}
	}
	return out, nil
}
