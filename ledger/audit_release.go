package ledger

import (
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/dprelease/dprelease/privacy"
)

func (v *Auditor) debit(r *Record, b *debitBody) error {
	a := v.accounts[b.Account]
	if a == nil {
		return fmt.Errorf("a debit of an account that is not there")
	}
	cost, err := parseRats(b.Cost)
	if err != nil || len(cost) != len(a.Spent) {
		return fmt.Errorf("a debit without a cost")
	}
	if slices.ContainsFunc(cost, func(c *big.Rat) bool { return c.Sign() < 0 }) {
		return fmt.Errorf("a debit that gives something back")
	}
	if (a.Slice.Column == "") != (b.Slice == "") {
		return fmt.Errorf("a debit of a slice that its account does not have")
	}
	if err := v.inSlice(a, b.Slice); err != nil {
		return err
	}
	defer v.leaveSlice(a)
	if err := v.draws(r.Seq, a, b.Draws, cost); err != nil {
		return err
	}
	a.Charge(cost)
	for _, d := range b.Draws {
		a.InSlice.Collected = a.InSlice.Collected || d.Collected && b.Slice != ""
	}
	v.changed = append(v.changed, a)
	if v.stated && a.Keeps == nil && a.Debits == 1 {
		a.Keeps = columnSet(b.Keeps) // the first debit decides it
	}
	if v.stated && a.Keeps == nil || !KeepsAll(a.Keeps, b.Keeps) {
		return fmt.Errorf("a debit of a job that keeps a column that its account does not")
	}
	if v.open[b.Plan] != 0 {
		return fmt.Errorf("a debit beside one of the same plan that was not given up")
	}
	v.open[b.Plan] = r.Seq
	if limits := v.bounds[a.ID]; !limits.within(a) || !limits.lives(a) {
		v.find(FoundOverspent, fmt.Sprintf("record %d", r.Seq), "its debit is above the limit of the account of %s", a.Key)
	}
	if !v.stated {
		v.former[b.Digest] = append(v.former[b.Digest], r.Seq)
	}
	v.releases[r.Seq] = &Release{ID: r.Seq, Account: a.ID, Slice: b.Slice, Plan: b.Plan, State: Debited, token: 1}
	v.plans[b.Plan] = append(v.plans[b.Plan], v.releases[r.Seq])
	v.putPlan(b.Plan)
	return nil
}

// inSlice lets the account stand for one of its slices, as tx.inSlice does.
func (v *Auditor) inSlice(a *Account, is string) (err error) {
	if is == "" {
		return nil
	}
	if v.slices[a.ID] == nil {
		v.slices[a.ID] = map[string]bucket{}
	}
	a.Slice.Is, a.bucket = is, v.slices[a.ID][bucketOf(is)]
	a.InSlice, err = a.bucket.get(is, a)
	return err
}

// leaveSlice takes note of what the slice has spent, and lets the account be the whole one
// again.
func (v *Auditor) leaveSlice(a *Account) {
	if is := a.Slice.Is; is != "" && a.InSlice.Debits > 0 {
		b := a.bucket.with(a.InSlice)
		v.slices[a.ID][bucketOf(is)] = b
		v.put(bucketKey(a.ID, bucketOf(is)), b)
	}
	a.Slice.Is, a.InSlice, a.bucket = "", Tally{}, nil
}

func (v *Auditor) seal(r *Record, b *sealBody) error {
	rel := v.releases[b.Release]
	switch {
	case rel == nil || rel.State != Debited:
		return fmt.Errorf("bytes of a release that was not debited, or was sealed or given up before")
	case b.Content == "" || b.Archive == "":
		return fmt.Errorf("a seal without content or bytes")
	case v.sealed[[2]string{rel.Plan, b.Content}] != 0:
		return fmt.Errorf("a second release of the same plan from the same content")
	}
	if err := v.keeps(rel.ID, b.Samples); err != nil {
		return err
	}
	v.sealed[[2]string{rel.Plan, b.Content}] = rel.ID
	delete(v.open, rel.Plan)
	rel.State, rel.Content, rel.archive = Sealed, b.Content, b.Archive
	v.files[rel.ID] = b.Files
	v.putPlan(rel.Plan)
	return nil
}

func (v *Auditor) end(r *Record, b *publishBody) error {
	from, to := Sealed, Published
	if r.Kind == kindAbandon {
		from, to = Debited, Abandoned
	}
	rel := v.releases[b.Release]
	if rel == nil || rel.State != from {
		return fmt.Errorf("a release that was not %s is %s", from, to)
	}
	if to == Abandoned {
		delete(v.open, rel.Plan)
		rel.token++
	}
	rel.State = to
	v.putPlan(rel.Plan)
	return nil
}

// auditSlack allows that another version of the program, or another machine,
// rounded a sample's charge in another way. It is far above any rounding and far
// below any amount that matters.
var auditSlack = big.NewRat(1, 1e9)

// draws replays what a debit did to kept samples, and computes their charges again.
func (v *Auditor) draws(seq int64, a *Account, draws []Draw, cost privacy.Cost) error {
	sum := a.nothing()
	for _, d := range draws {
		s, err := v.drawnBy(seq, a, d)
		if err != nil {
			return err
		}
		step, err1 := parseLimit(d.Epsilon, d.Delta)
		charged, err2 := parseLimit(d.ChargedEpsilon, d.ChargedDelta)
		paid, err3 := parseRats(d.Cost)
		if errors.Join(err1, err2, err3) != nil || len(paid) != len(cost) || step.Epsilon.Sign() < 0 || step.Delta.Sign() < 0 {
			return fmt.Errorf("a debit for sample %s without an amount", d.Sample)
		}
		eps, _ := step.Epsilon.Float64()
		delta, _ := step.Delta.Float64()
		u, err := a.Use(s, Step{Sample: d.Sample, Epsilon: eps, Delta: delta})
		if err != nil {
			return fmt.Errorf("a debit for sample %s that its account cannot charge", d.Sample)
		}
		short := below(charged.Epsilon, u.ChargedAfter.Epsilon) || below(charged.Delta, u.ChargedAfter.Delta)
		for i := range paid {
			short = short || paid[i].Sign() < 0 || below(paid[i], u.Cost[i])
			sum[i].Add(sum[i], paid[i])
		}
		if short || !s.Charged.AtMost(charged) {
			v.find(FoundOverspent, fmt.Sprintf("record %d", seq), "is charged less for sample %s than all its releases cost together", d.Sample)
		}
		s.Spent = s.Spent.plus(step)
		s.Charged = charged
		s.Uses++
		v.put(sampleKey(s.ID), s.row())
	}
	for i := range sum {
		if sum[i].Cmp(cost[i]) > 0 {
			return fmt.Errorf("a debit below what its samples cost")
		}
	}
	return nil
}

func below(got, want *big.Rat) bool {
	least := new(big.Rat).Mul(want, new(big.Rat).Sub(big.NewRat(1, 1), auditSlack))
	return got.Cmp(least) < 0
}

// drawnBy finds the sample of a debit, or begins it.
func (v *Auditor) drawnBy(seq int64, a *Account, d Draw) (*Sample, error) {
	s := v.samples[d.Sample]
	switch {
	case d.Event != "" && s != nil:
		return nil, fmt.Errorf("sample %s is drawn twice", d.Sample)
	case d.Event != "":
		s = &Sample{ID: d.Sample, Account: a.ID, Slice: a.Slice.Is, Debit: seq, Name: d.Name, Event: d.Event, Design: d.Design, Spent: zero(), Charged: zero()}
		s.Ready = d.Collected
		v.samples[d.Sample] = s
		return s, nil
	case s == nil:
		return nil, fmt.Errorf("a debit for a sample %s that was never drawn", d.Sample)
	}
	if err := s.usable(a.ID, a.Slice.Is); err != nil {
		return nil, fmt.Errorf("a debit for a sample %s that was not stored, or belongs to another account", d.Sample)
	}
	return s, nil
}

// keeps replays that a seal stored the rows of samples.
func (v *Auditor) keeps(debit int64, rows []sealedRows) error {
	missing := 0
	for _, s := range v.samples {
		if s.Debit == debit && !s.Ready {
			missing++
		}
	}
	for _, r := range rows {
		s := v.samples[r.Sample]
		if s == nil || s.Debit != debit || s.Ready || r.Content == "" || r.SHA256 == "" {
			return fmt.Errorf("the rows of a sample that its release did not draw")
		}
		s.Ready, s.Content, s.digest = true, r.Content, r.SHA256
		v.put(sampleKey(s.ID), s.row())
		missing--
	}
	if missing != 0 {
		return fmt.Errorf("a seal without the rows of a sample that is kept")
	}
	return nil
}
