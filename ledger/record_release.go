package ledger

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"

	"github.com/dprelease/dprelease/privacy"
)

// The records about releases and what was spent, and what each means.

type debitBody struct {
	stamp
	Account  int64        `json:"account"`
	Plan     string       `json:"plan"`
	Job      string       `json:"job"`
	Digest   string       `json:"digest"`
	Again    bool         `json:"again,omitempty"`
	Epsilon  float64      `json:"epsilon"`
	Delta    float64      `json:"delta"`
	Cost     privacy.Cost `json:"cost"`
	Releases []Charge     `json:"releases"`
	Steps    []Stepped    `json:"steps,omitempty"` // at the nodes of the account, the data among them; none for what is free
	Keeps    []string     `json:"keeps,omitempty"` // in which the neighbours that the job protects agree
	Slice    string       `json:"slice,omitempty"` // that is debited, of an account with slices
	// SliceKind is the type as which the values of the column of the slices were read.
	SliceKind SliceKind `json:"slice_kind,omitempty"`
}

func (r *debitBody) enter(b *books, seq int64) error {
	a, err := b.of(r.Account)
	if err != nil {
		return err
	}
	switch {
	case !a.isCost(r.Cost):
		return errCost
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
	sum, collected := a.nothing(), false
	var of []charged // the slices of a series
	for i := range r.Steps {
		s := &r.Steps[i]
		one, err := b.step(seq, a, r, s)
		if err != nil {
			return err
		}
		sum, of = sumOf(sum, one), append(of, s.Slices...)
		collected = collected || s.Node != "" && b.nodes[s.Node].Kind == KindCollected
	}
	if !slices.EqualFunc(sum, r.Cost, func(x, y *big.Rat) bool { return x.Cmp(y) == 0 }) {
		return fmt.Errorf("a debit of another amount than its steps")
	}
	if len(of) > 0 {
		err = b.chargeSeries(a, of, r.Cost)
	} else {
		a.Charge(r.Cost)
		a.InSlice.Collected = a.InSlice.Collected || collected && r.Slice != ""
		b.keepSlice(a)
	}
	if err != nil {
		return err
	}
	rel := &Release{ID: seq, Account: a.ID, Slice: r.Slice, Plan: r.Plan, State: Debited, token: 1}
	b.releases[seq] = rel
	b.plans[r.Plan] = append(b.plans[r.Plan], rel)
	b.changed.releases = append(b.changed.releases, rel)
	return a.decideKept(r.Keeps)
}

var errCost = errors.New("a cost that is not in the units of its account, or gives something back")

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
		n := b.nodes[r.Sample]
		if n == nil || n.Kind != KindDraw || n.Debit != debit || n.Open || r.Content == "" || r.SHA256 == "" {
			return fmt.Errorf("the rows of a sample that its release did not draw")
		}
		n.Open, n.Content, n.Digest = true, r.Content, r.SHA256
		b.changed.nodes = append(b.changed.nodes, n)
	}
	for _, n := range b.nodes {
		if n.Kind == KindDraw && n.Debit == debit && !n.Open {
			return fmt.Errorf("a seal without the rows of a sample that is kept")
		}
	}
	return nil
}

type publishBody struct {
	stamp
	Release int64 `json:"release"`
}

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
	reasoned
}

// charged is one cost, and the slices that it is added to: none in an account without.
type charged struct {
	Cost   privacy.Cost `json:"cost"` // in the account's units
	Slices []string     `json:"slices,omitempty"`
}

func (r *chargeBody) enter(b *books, _ int64) error {
	a, err := b.of(r.Account)
	if err != nil {
		return err
	}
	if len(r.Charges) == 0 {
		return fmt.Errorf("a charge without a cost")
	}
	costs := costsOf(r.Charges)
	if err = a.fits(costs); err == nil {
		err = a.decideKept(r.Keeps)
	}
	if err != nil {
		return err
	}
	if a.Slice.Column == "" {
		a.Charge(costs[0].Cost)
		return nil
	}
	return b.chargeSlices(a, costs)
}

// chargeSlices charges slices of an account bucket by bucket.
func (b *books) chargeSlices(a *Account, costs []SliceCost) error {
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

// costsOf lists costs slice by slice.
func costsOf(all []charged) (out []SliceCost) {
	for _, c := range all {
		if len(c.Slices) == 0 {
			out = append(out, SliceCost{Cost: c.Cost})
		}
		for _, is := range c.Slices {
			out = append(out, SliceCost{is, c.Cost})
		}
	}
	return out
}
