package ledger

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"

	"github.com/dprelease/dprelease/privacy"
)

// Sample is a kept draw as the ledger knows it. All of this is public; the rows are
// not, and stand sealed beside it (P19).
type Sample struct {
	ID      string // 32 hex digits, chosen at random
	Account int64
	Slice   string // that it was drawn from, "" where the account has none
	Debit   int64  // the record of the debit of the job that drew it
	Name    string // of the sample in that job
	Event   string // the draw, as the canonical bytes of an event
	Design  string // what else the job that drew it said of the design, as JSON
	Ready   bool   // the rows are stored: other jobs may use it
	Uses    int64  // jobs that were debited for it
	Spent   Limit  // by all of them on the sample: composed first (P4)
	Charged Limit  // by all of them on the population: amplified once
	Content string // keyed digest of the whole table that was drawn from, "" until Ready

	Waves []int64 // of a panel, that were debited; nil for other draws

	digest string // SHA-256 of its encrypted rows
}

// sampleKey is the key of a sample in the tree of digests.
func sampleKey(id string) string { return "sample\n" + id }

// row returns what is stored of the sample, without its encrypted rows. The tree of
// digests commits to it.
func (s *Sample) row() any {
	return struct {
		ID                  string
		Account, Debit      int64
		Name, Event, Design string
		Ready               bool
		Uses                int64
		Spent, Charged      [2]string
		Content, Digest     string
		Slice               string
		Waves               string
	}{s.ID, s.Account, s.Debit, s.Name, s.Event, s.Design, s.Ready, s.Uses, s.Spent.Texts(), s.Charged.Texts(), s.Content, s.digest, s.Slice, wavesText(s.Waves)}
}

// same reports whether two states of a sample are one.
func (s *Sample) same(spent Limit) bool { return s.Spent.AtMost(spent) && spent.AtMost(s.Spent) }

// reuse is the accounting of the draw.
func (s *Sample) reuse(rel privacy.Relation) (*privacy.Reuse, error) {
	draw, err := s.Sampling()
	if err != nil {
		return nil, err
	}
	r, err := privacy.NewReuse(draw, rel)
	if err != nil {
		return nil, refuse(CodeFilter, "sample %s cannot be kept: %v", s.ID, err)
	}
	return r, nil
}

// Sampling returns the design of the draw as an event.
func (s *Sample) Sampling() (privacy.Sampling, error) {
	e, err := privacy.FromCanonical([]byte(s.Event))
	draw, ok := e.(privacy.Sampling)
	if err != nil || !ok {
		return nil, refuse(CodeTampered, "the design of sample %s cannot be read", s.ID)
	}
	return draw, nil
}

// eventText writes a design as the ledger stores it. The event inside does not matter and
// is always the same.
func eventText(s privacy.Sampling) (string, error) {
	if s == nil {
		return "", refuse(CodeSample, "the whole table is no draw that can be kept")
	}
	b, err := privacy.Canonical(s.With(privacy.Pure{Eps: 1}))
	if err != nil {
		return "", refuse(CodeSample, "the design of a sample that is to be kept cannot be written down: %v", err)
	}
	return string(b), nil
}

const sampleColumns = "id, account, slice, debit, name, event, design, uses, spent_epsilon, spent_delta, charged_epsilon, charged_delta, content, digest, waves"

func scanSample(s scanner) (*Sample, error) {
	var m Sample
	var spent, charged [2]string
	var content, digest sql.NullString
	var waves string
	if err := s.Scan(&m.ID, &m.Account, &m.Slice, &m.Debit, &m.Name, &m.Event, &m.Design, &m.Uses, &spent[0], &spent[1], &charged[0], &charged[1], &content, &digest, &waves); err != nil {
		return nil, err
	}
	var err1, err2 error
	m.Spent, err1 = parseLimit(spent[0], spent[1])
	m.Charged, err2 = parseLimit(charged[0], charged[1])
	var err3 error
	m.Waves, err3 = parseWaves(waves)
	if err1 != nil || err2 != nil || err3 != nil {
		return nil, refuse(CodeTampered, "a kept sample cannot be read")
	}
	m.Content, m.Ready, m.digest = content.String, content.Valid, digest.String
	return &m, nil
}

// sample finds a kept sample, nil where there is none, and holds it to the chain.
func (t *tx) sample(id string) (*Sample, error) {
	all, err := t.samples("WHERE id = ?", id)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, t.holds(sampleKey(id), nil, "sample "+id+" is gone: a table of the ledger")
	}
	t.books.samples[id] = all[0]
	return all[0], t.holds(sampleKey(id), all[0].row(), "sample "+id)
}

// Sample returns what the ledger knows of a kept sample, nil where there is none.
func (l *Ledger) Sample(ctx context.Context, id string) (*Sample, error) {
	return reading(ctx, l, func(t *tx) (*Sample, error) { return t.sample(id) })
}

// Samples returns the kept samples of an account in the order in which they were
// drawn; of all accounts where account is 0.
func (l *Ledger) Samples(ctx context.Context, account int64) ([]*Sample, error) {
	return reading(ctx, l, func(t *tx) ([]*Sample, error) {
		return t.samples("WHERE CAST(? AS BIGINT) = 0 OR account = ?", account, account)
	})
}

func (t *tx) samples(where string, args ...any) ([]*Sample, error) {
	return all(t, scanSample, "SELECT "+sampleColumns+" FROM dprelease_samples "+where+" ORDER BY debit, id", args...)
}

// drawsOf lists what a debit's record says of its kept samples.
func drawsOf(q *Request, uses []*Use) ([]Draw, error) {
	var out []Draw
	for i, u := range uses {
		step, adds := q.Draws[i], u.After.Minus(u.Before).Texts()
		d := Draw{Sample: u.Sample, ChargedEpsilon: u.ChargedAfter.Epsilon.RatString(), ChargedDelta: u.ChargedAfter.Delta.RatString(), Cost: ratTexts(u.Cost)}
		d.Epsilon, d.Delta = adds[0], adds[1]
		if step.New != nil {
			var err error
			if d.Event, err = eventText(step.New.Event); err != nil {
				return nil, err
			}
			d.Name, d.Design, d.Collected = step.New.Name, step.New.Design, step.New.Collected
		}
		out = append(out, d)
	}
	return out, nil
}

// saveSample stores what records say of a sample: all but its rows.
func (t *tx) saveSample(s *Sample) error {
	spent, charged := s.Spent.Texts(), s.Charged.Texts()
	content := sql.NullString{String: s.Content, Valid: s.Ready} // none until the rows are stored
	return t.exec(`INSERT INTO dprelease_samples (id, account, slice, debit, name, event, design, uses, spent_epsilon, spent_delta, charged_epsilon, charged_delta, content, digest, waves) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET uses = excluded.uses, spent_epsilon = excluded.spent_epsilon, spent_delta = excluded.spent_delta,
		charged_epsilon = excluded.charged_epsilon, charged_delta = excluded.charged_delta, content = excluded.content, digest = excluded.digest, waves = excluded.waves`,
		s.ID, s.Account, s.Slice, s.Debit, s.Name, s.Event, s.Design, s.Uses, spent[0], spent[1], charged[0], charged[1], content, orNull(s.digest), wavesText(s.Waves))
}

// conceal encrypts the rows of the samples that a release keeps, and says what its seal says
// of them.
func (t *tx) conceal(k *Ticket, kept []Rows) (said []sealedRows, sealed map[string][]byte, err error) {
	given := map[string]Rows{}
	for _, r := range kept {
		given[r.Sample] = r
	}
	if len(given) != len(kept) || len(kept) != len(k.keeps) {
		return nil, nil, refuse(CodeSample, "the rows of the samples that this release keeps were not given")
	}
	sealed = map[string][]byte{}
	for _, id := range k.keeps {
		s, err := t.sample(id)
		if err != nil {
			return nil, nil, err
		}
		r, ok := given[id]
		if s == nil || s.Debit != k.Release || !ok || r.Content == "" {
			return nil, nil, refuse(CodeSample, "the rows of sample %s were not given", id)
		}
		of := *s
		of.Content = r.Content
		if sealed[id], err = t.l.conceal(&of, "", r.Data); err != nil {
			return nil, nil, err
		}
		said = append(said, sealedRows{Sample: id, Content: r.Content, SHA256: digestOf(sealed[id])})
	}
	return said, sealed, nil
}

// CollectedID is the id of the draw that made the table of an account itself a
// sample of a population. It is one draw for all jobs of the account: what they
// release is composed on the table first and amplified once (P4). A slice that was
// collected by a draw of its own has an id of its own; one collection of several slices
// has none and amplifies nothing (P26).
func CollectedID(k Key) string {
	text := "dprelease collected 1\n" + k.name().text()
	if k.Slice.Column != "" {
		text += "\n" + spelled(k.Slice.Is)
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// Collected reports whether the draw was made by whoever collected the table: the
// ledger has no rows of it.
func (s *Sample) Collected() bool { return s.Ready && s.Content == "" && s.digest == "" }

// collectedOnly refuses a job that treats the table of an account otherwise than
// the jobs before it: as collected by an amplified draw, or not. The sum of the two
// is not proven.
func (t *tx) collectedOnly(a *Account, q *Request) error {
	id := CollectedID(a.Key)
	before, err := t.sample(id)
	if err != nil {
		return err
	}
	says := false
	for _, step := range q.Draws {
		says = says || step.Sample == id
	}
	switch {
	case before != nil && !says:
		return refuse(CodeSample, "the earlier jobs on this data set said dataset.collected, and were charged for a table that is itself a sample; this one must say the same")
	case before == nil && says && a.paid() > 0:
		return refuse(CodeSample, "the earlier jobs on this data set were not charged together for a table that is itself a sample: use another dataset.id with dataset.collected, or leave it out")
	}
	return nil
}
