package ledger

import (
	"database/sql"
	"errors"
	"fmt"
	"math/big"

	"github.com/dprelease/dprelease/privacy"
)

// heldSample is a kept sample as the chain tells it.
type heldSample struct {
	Sample
	digest string
}

// auditSlack allows that another version of the program, or another machine,
// rounded a sample's charge in another way. It is far above any rounding and far
// below any amount that matters.
var auditSlack = big.NewRat(1, 1e9)

// draws replays what a debit did to kept samples, and computes their charges again.
func (v *Auditor) draws(seq int64, a *Account, draws []Draw, cost privacy.Cost) error {
	sum := make(privacy.Cost, len(cost))
	for i := range sum {
		sum[i] = new(big.Rat)
	}
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
		u, err := a.Use(&s.Sample, Step{Sample: d.Sample, Epsilon: eps, Delta: delta})
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
		s.Spent = Limit{Epsilon: new(big.Rat).Add(s.Spent.Epsilon, step.Epsilon), Delta: new(big.Rat).Add(s.Spent.Delta, step.Delta)}
		s.Charged = charged
		s.Uses++
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
func (v *Auditor) drawnBy(seq int64, a *Account, d Draw) (*heldSample, error) {
	s := v.samples[d.Sample]
	switch {
	case d.Event != "" && s != nil:
		return nil, fmt.Errorf("sample %s is drawn twice", d.Sample)
	case d.Event != "":
		s = &heldSample{Sample: Sample{ID: d.Sample, Account: a.ID, Debit: seq, Name: d.Name, Event: d.Event, Design: d.Design, Spent: zero(), Charged: zero()}}
		s.Ready = d.Collected
		v.samples[d.Sample] = s
		return s, nil
	case s == nil:
		return nil, fmt.Errorf("a debit for a sample %s that was never drawn", d.Sample)
	}
	if err := s.usable(a.ID); err != nil {
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
		missing--
	}
	if missing != 0 {
		return fmt.Errorf("a seal without the rows of a sample that is kept")
	}
	return nil
}

// matchSamples holds the table of samples to the chain.
func (v *Auditor) matchSamples(t *tx) error {
	rows, err := t.rows("SELECT " + sampleColumns + ", digest, sealed FROM dprelease_samples ORDER BY id")
	if err != nil {
		return err
	}
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		var digest sql.NullString
		var sealed []byte
		s, err := scanSample(also{rows, []any{&digest, &sealed}})
		if err != nil {
			return err
		}
		where := s.String()
		w := v.samples[s.ID]
		switch {
		case w == nil:
			v.find(FoundTables, where, "is not in the chain")
		case w.Account != s.Account || w.Debit != s.Debit || w.Name != s.Name || w.Event != s.Event || w.Design != s.Design ||
			w.Ready != s.Ready || w.Uses != s.Uses || w.Content != s.Content || w.digest != digest.String ||
			!s.same(w.Spent) || !w.Charged.AtMost(s.Charged) || !s.Charged.AtMost(w.Charged):
			v.find(FoundTables, where, "its state does not follow from the chain")
		case s.Collected() && (sealed != nil || digest.Valid):
			v.find(FoundTables, where, "has rows, which nobody stored")
		case s.Ready && !s.Collected() && digestOf(sealed) != w.digest:
			v.find(FoundStored, where, "its stored rows are not those that were sealed")
		}
	}
	if n != len(v.samples) {
		v.find(FoundTables, "samples", "%d kept samples stand in the table, %d in the chain", n, len(v.samples))
	}
	return errors.Join(rows.Err(), rows.Close())
}
