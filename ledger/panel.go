package ledger

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dprelease/dprelease/privacy"
)

// Panel says that a job is about one wave of a rotation (P34). The first wave that is
// released, whichever it is, is debited for all; the others cost nothing. A wave that is
// released once more costs what a unit pays that is known to be in it.
type Panel struct {
	ID    string
	Drawn bool // the units are allotted by a secret of the ledger, which the first debit makes
	Name  string
	Wave  int64
	Known privacy.Point // what the job says that one wave costs a unit that is known to be in it
	Pins  []Pin         // what decides which unit is in which wave, beside the bill
}

// PanelID returns the id of a panel of an account. Its units were allotted once: all jobs of
// the account that name it are about the same allotment. Drawn tells panels of the ledger's own
// from those that somebody else drew.
func PanelID(k Key, name string, drawn bool) string {
	about := "dprelease panel 1\n"
	if drawn {
		about = "dprelease drawn panel 1\n"
	}
	sum := sha256.Sum256([]byte(about + k.name().text() + "\n" + name))
	return hex.EncodeToString(sum[:16])
}

// Rotation returns the event of the panel of a request, with all that is released in each wave.
func (q *Request) Rotation() (privacy.Rotation, error) {
	r, ok := q.Bill.Tree().(privacy.Rotation)
	if !ok {
		return r, refuse(CodeBill, "the job is about a wave of a panel, and its bill lists more than the panel, or no panel")
	}
	return r, nil
}

// due returns the bill that a request is debited for, and what the job says that it costs.
//
// # Contract
//
// samples holds the state of the panel in the transaction of the debit, if it is there. The
// rotation with one event in each wave was debited in full before its first wave. A second
// release of a wave is another event on the table, whose cost for known waves composes with
// it. Proof: panel.proof.md.
func (q *Request) due(samples map[string]*Sample) (b privacy.Bill, claim privacy.Point, err error) {
	if q.Panel == nil {
		return q.Bill, q.Charged, nil
	}
	event, err := q.Rotation()
	if err != nil {
		return b, claim, err
	}
	s := samples[q.Panel.ID]
	if s == nil {
		return q.Bill, q.Charged, nil
	}
	switch {
	case s.closed():
		return b, claim, s.usable(s.Account, s.Slice)
	case q.Panel.Drawn != (s.digest != ""):
		return b, claim, refuse(CodeTampered, "%s does not have the secret of its allotment", s.panelName())
	case slices.Contains(s.Waves, q.Panel.Wave):
		return privacy.Bill{Event: event.Event, Delta: q.Bill.Delta}, q.Panel.Known, nil
	}
	return b, claim, nil
}

func (s *Sample) panelName() string {
	if s.Name == "" {
		return "the panel of this data set"
	}
	return "panel " + s.Name
}

// panelUse is the part of a debit's record that is about a panel.
type panelUse struct {
	Sample string `json:"sample"`
	Name   string `json:"name,omitempty"`
	Event  string `json:"event,omitempty"` // set by the first wave, as are the next two
	// What all waves cost the population together.
	ChargedEpsilon string `json:"charged_epsilon,omitempty"`
	ChargedDelta   string `json:"charged_delta,omitempty"`
	Wave           int64  `json:"wave"`
	// SHA256 is that of the encrypted secret of the allotment, where the ledger keeps it.
	SHA256 string `json:"sha256,omitempty"`
}

// panelOf returns what the record of a debit says of its panel, nil where there is none. Where the
// panel is new and the ledger allots its units, secret is the encrypted secret of the allotment,
// for the sample that the record seq makes.
func (t *tx) panelOf(q *Request, samples map[string]*Sample, paid privacy.Point, seq int64, account int64) (u *panelUse, secret []byte, err error) {
	p := q.Panel
	if p == nil {
		return nil, nil, nil
	}
	u = &panelUse{Sample: p.ID, Wave: p.Wave}
	if samples[p.ID] != nil {
		return u, nil, nil
	}
	event, err := q.Rotation()
	if err != nil {
		return nil, nil, err
	}
	text, err := privacy.Canonical(event)
	if err != nil {
		return nil, nil, refuse(CodeSample, "the panel cannot be written down: %v", err)
	}
	charged := exactly(paid).Texts()
	u.Name, u.Event, u.ChargedEpsilon, u.ChargedDelta = p.Name, string(text), charged[0], charged[1]
	if p.Drawn {
		key := make([]byte, allotmentKey)
		rand.Read(key)
		own, err := t.makeKey(p.ID)
		if err != nil {
			return nil, nil, err
		}
		if secret, err = t.l.conceal(&Sample{ID: p.ID, Account: account, Debit: seq, Event: u.Event}, own, key); err != nil {
			return nil, nil, err
		}
		u.SHA256 = digestOf(secret)
	}
	return u, secret, nil
}

// allotmentKey is the number of bytes of the secret by which the units of a panel are allotted.
const allotmentKey = 32

// Allotment returns the secret by which the units of a panel are allotted to its waves. Whoever has
// it knows who is in which wave.
//
// # Contract
//
// The secret is drawn once, by the debit of the first wave, and is durable before anything is drawn
// with it. It is the same for all waves, until ClosePanel destroys it: no other is ever made for the
// panel. Proof: panel.proof.md.
func (l *Ledger) Allotment(ctx context.Context, panel string) ([]byte, error) {
	key, err := l.Rows(ctx, panel)
	if err == nil && len(key) != allotmentKey {
		err = refuse(CodeTampered, "the secret of a panel cannot be read")
	}
	return key, err
}

// ClosePanel destroys the key of the secret by which the units of a panel are allotted, for a reason
// that is recorded. No wave of the panel can be released any more. kept says what may still hold the
// key: the ledger cannot reach it. Closing once more records nothing, and destroys what the first time
// could not.
//
// # Contract
//
// No file of the database holds the key afterwards; for SQLite nor does its log. Without the key the
// secret cannot be told from noise. Proof: panel.proof.md.
func (l *Ledger) ClosePanel(ctx context.Context, k Key, name, reason string) (kept string, err error) {
	if strings.TrimSpace(reason) == "" {
		return "", refuse(CodeSample, "the end of a panel needs a reason, which is recorded")
	}
	err = l.write(ctx, func(t *tx) error {
		a, err := t.account(k.account())
		if err != nil {
			return err
		}
		if a == nil {
			return refuse(CodeAccount, "there is no account of %s", k)
		}
		id := PanelID(a.Key, name, true)
		s, err := t.sample(id)
		switch {
		case err != nil:
			return err
		case s == nil:
			return refuse(CodeSample, "the account of %s has no panel %s that was drawn here", k, name)
		case s.closed():
			return nil
		}
		if _, err := t.append(&closeBody{Account: a.ID, Sample: id, Reason: reason}); err != nil {
			return err
		}
		return errors.Join(t.destroyKey(id), t.exec("UPDATE dprelease_samples SET sealed = NULL WHERE id = ?", id))
	})
	if err != nil {
		return "", err
	}
	return l.dialect.keep, l.wipeLog(ctx)
}

// closed reports whether the secret of a panel is gone.
func (s *Sample) closed() bool { return len(s.Waves) > 0 && !s.Ready }

// closeBody says that the secret of a panel was destroyed.
type closeBody struct {
	stamp
	Account int64  `json:"account"`
	Sample  string `json:"sample"`
	Reason  string `json:"reason"`
}

func (*closeBody) kind() string { return kindClose }

func (r *closeBody) enter(b *books, _ int64) error {
	s := b.samples[r.Sample]
	if s == nil || s.Account != r.Account || len(s.Waves) == 0 || s.digest == "" || r.Reason == "" {
		return fmt.Errorf("the end of a panel that is not there, or has no secret, or without a reason")
	}
	s.Ready, s.digest = false, ""
	b.changed.samples = append(b.changed.samples, s)
	return nil
}

// panel enters a wave of a panel.
func (b *books) panel(seq int64, a *Account, u *panelUse) error {
	s := b.samples[u.Sample]
	switch {
	case (u.Event == "") != (s != nil):
		return fmt.Errorf("a wave of a panel that was not begun, or begins twice")
	case s == nil:
		charged, err := parseLimit(u.ChargedEpsilon, u.ChargedDelta)
		if err != nil {
			return fmt.Errorf("a panel without an amount")
		}
		s = &Sample{ID: u.Sample, Account: a.ID, Debit: seq, Name: u.Name, Event: u.Event, Spent: zero(), Charged: charged, Ready: true, digest: u.SHA256}
		b.samples[s.ID] = s
	case s.Account != a.ID || len(s.Waves) == 0:
		return fmt.Errorf("a wave of a panel of another account")
	}
	if !slices.Contains(s.Waves, u.Wave) {
		s.Waves = append(s.Waves, u.Wave)
		slices.Sort(s.Waves)
	}
	s.Uses++
	b.changed.samples = append(b.changed.samples, s)
	return nil
}

// wavesText writes the waves of a panel as the ledger stores them.
func wavesText(waves []int64) string {
	texts := make([]string, len(waves))
	for i, w := range waves {
		texts[i] = strconv.FormatInt(w, 10)
	}
	return strings.Join(texts, ",")
}

func parseWaves(text string) (out []int64, err error) {
	if text == "" {
		return nil, nil
	}
	for _, t := range strings.Split(text, ",") {
		w, err := strconv.ParseInt(t, 10, 64)
		if err != nil || w < 1 {
			return nil, fmt.Errorf("waves that cannot be read")
		}
		out = append(out, w)
	}
	return out, nil
}

// onePanel refuses a panel beside samples that are kept, and a job that treats the table of an
// account as a wave where others treat it as collected by another draw: the sum is not proven.
func (t *tx) onePanel(a *Account, q *Request) error {
	collected, err := t.sample(CollectedID(a.Key))
	if err != nil {
		return err
	}
	if q.Panel != nil && collected != nil {
		return refuse(CodeSample, "the earlier jobs on this data set said that its table was collected by another draw: use another dataset.id for waves of a panel")
	}
	if q.Panel != nil {
		kept, err := t.samples("WHERE account = ? AND waves = ''", a.ID)
		if err == nil && len(kept) > 0 {
			err = refuse(CodeSample, "the earlier jobs on this data set kept a sample, and samples that are kept do not add up with waves of a panel: use another dataset.id")
		}
		return err
	}
	if len(q.Draws) == 0 {
		return nil
	}
	all, err := t.samples("WHERE account = ? AND waves <> ''", a.ID)
	if err == nil && len(all) > 0 {
		err = refuse(CodeSample, "the earlier jobs on this data set released waves of a panel, which do not add up with samples that are kept or collected: use another dataset.id")
	}
	return err
}
