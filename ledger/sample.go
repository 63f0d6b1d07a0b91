package ledger

import (
	"context"
	"database/sql"
	"errors"
	"math/big"

	"github.com/dprelease/dprelease/internal/expr"
	"github.com/dprelease/dprelease/privacy"
)

// Sample is a kept draw as the ledger knows it. All of this is public; the rows are
// not, and stand sealed beside it (P19).
type Sample struct {
	ID      string // 32 hex digits, chosen at random
	Account int64
	Debit   int64  // the record of the debit of the job that drew it
	Name    string // of the sample in that job
	Event   string // the draw, as canonical JSON of an event
	Design  string // what else the job that drew it said of the design, as JSON
	Ready   bool   // the rows are stored: other jobs may use it
	Uses    int64  // jobs that were debited for it
	Spent   Limit  // by all of them on the sample: composed first (P4)
	Charged Limit  // by all of them on the population: amplified once
	Content string // keyed digest of the whole table that was drawn from, "" until Ready
}

// same says that two states of a sample are one.
func (s *Sample) same(spent Limit) bool { return s.Spent.AtMost(spent) && spent.AtMost(s.Spent) }

// reuse is the accounting of the draw.
func (s *Sample) reuse(rel privacy.Relation) (*privacy.Reuse, error) {
	e, problems := expr.Parse([]byte(s.Event), "")
	draw, ok := e.(privacy.Sampling)
	if len(problems) > 0 || !ok {
		return nil, refuse(CodeTampered, "the design of sample %s cannot be read", s.ID)
	}
	r, err := privacy.NewReuse(draw, rel)
	if err != nil {
		return nil, refuse(CodeFilter, "sample %s cannot be kept: %v", s.ID, err)
	}
	return r, nil
}

// Sampling is the design of the draw as an event, without what is run on it.
func (s *Sample) Sampling() (privacy.Sampling, error) {
	e, problems := expr.Parse([]byte(s.Event), "")
	draw, ok := e.(privacy.Sampling)
	if len(problems) > 0 || !ok {
		return nil, refuse(CodeTampered, "the design of sample %s cannot be read", s.ID)
	}
	return draw, nil
}

// eventText is a design in the ledger's words. What stands inside is of no
// consequence.
func eventText(s privacy.Sampling) (string, error) {
	if s == nil {
		return "", refuse(CodeSample, "the whole table is no draw that can be kept")
	}
	b, err := expr.Encode(s.With(privacy.Pure{Eps: 1}))
	if err != nil {
		return "", refuse(CodeSample, "the design of a sample that is to be kept cannot be written down: %v", err)
	}
	return string(b), nil
}

const sampleColumns = "id, account, debit, name, event, design, uses, spent_epsilon, spent_delta, charged_epsilon, charged_delta, content"

func scanSample(s scanner) (*Sample, error) {
	var m Sample
	var spent, charged [2]string
	var content sql.NullString
	if err := s.Scan(&m.ID, &m.Account, &m.Debit, &m.Name, &m.Event, &m.Design, &m.Uses, &spent[0], &spent[1], &charged[0], &charged[1], &content); err != nil {
		return nil, err
	}
	var err1, err2 error
	m.Spent, err1 = parseLimit(spent[0], spent[1])
	m.Charged, err2 = parseLimit(charged[0], charged[1])
	if err1 != nil || err2 != nil {
		return nil, refuse(CodeTampered, "a kept sample cannot be read")
	}
	m.Content, m.Ready = content.String, content.Valid
	return &m, nil
}

// sample finds a kept sample, nil where there is none.
func (t *tx) sample(id string) (*Sample, error) {
	s, err := scanSample(t.row("SELECT "+sampleColumns+" FROM dprelease_samples WHERE id = ?", id))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return s, err
}

// Sample returns what the ledger knows of a kept sample, nil where there is none.
func (l *Ledger) Sample(ctx context.Context, id string) (s *Sample, err error) {
	err = l.read(ctx, func(t *tx) error {
		s, err = t.sample(id)
		return err
	})
	return s, err
}

// Samples returns the kept samples of an account in the order in which they were
// drawn; of all accounts where account is 0.
func (l *Ledger) Samples(ctx context.Context, account int64) (out []*Sample, err error) {
	err = l.read(ctx, func(t *tx) error {
		out, err = t.samples("WHERE CAST(? AS BIGINT) = 0 OR account = ?", account, account)
		return err
	})
	return out, err
}

func (t *tx) samples(where string, args ...any) ([]*Sample, error) {
	rows, err := t.rows("SELECT "+sampleColumns+" FROM dprelease_samples "+where+" ORDER BY debit, id", args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []*Sample
	for rows.Next() {
		s, err := scanSample(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, errors.Join(rows.Err(), rows.Close())
}

func zero() Limit { return Limit{Epsilon: new(big.Rat), Delta: new(big.Rat)} }
