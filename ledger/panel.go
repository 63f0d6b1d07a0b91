package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dprelease/dprelease/privacy"
)

// Panel says that the table of a job is one wave of a rotation (P34). The first wave that is
// released, whichever it is, is debited for all; the others cost nothing. A wave that is
// released once more costs what a unit pays that is known to be in it.
type Panel struct {
	ID    string
	Name  string
	Wave  int64
	Event privacy.Rotation // with all that is released in each wave
	Known privacy.Point    // the guarantee of one wave for a unit that is known to be in it
}

// PanelID returns the id of a panel of an account. Its units were allotted once: all jobs of
// the account that name it are about the same allotment.
func PanelID(k Key, name string) string {
	sum := sha256.Sum256([]byte("dprelease panel 1\n" + k.name().text() + "\n" + name))
	return hex.EncodeToString(sum[:16])
}

// due returns the event that a request is debited for, nil for none, and its guarantee.
//
// # Contract
//
// samples holds the state of the panel in the transaction of the debit, if it is there. The
// rotation with one event in each wave was debited in full before its first wave. A second
// release of a wave is another event on the table, whose cost for known waves composes with
// it. Proof: panel.proof.md.
func (q *Request) due(samples map[string]*Sample) (privacy.Event, privacy.Point, error) {
	if q.Panel == nil {
		return q.Event, q.Charged, nil
	}
	s := samples[q.Panel.ID]
	if s == nil {
		return q.Event, q.Charged, nil
	}
	text, err := privacy.Canonical(q.Panel.Event)
	switch {
	case err != nil:
		return nil, privacy.Point{}, refuse(CodeSample, "the panel cannot be written down: %v", err)
	case s.Event != string(text):
		return nil, privacy.Point{}, refuse(CodeSample, "%s was planned and paid for with other releases in each wave, or other waves: they are fixed before the first wave; run the job as it was then, or begin another panel", s.panelName())
	case slices.Contains(s.Waves, q.Panel.Wave):
		return q.Panel.Event.Event, q.Panel.Known, nil
	}
	return nil, privacy.Point{}, nil
}

func (s *Sample) panelName() string {
	if s.Name == "" {
		return "the panel of this data set"
	}
	return "panel " + s.Name
}

// panelUse is what the record of a debit says of a panel.
type panelUse struct {
	Sample string `json:"sample"`
	Name   string `json:"name,omitempty"`
	Event  string `json:"event,omitempty"` // set by the first wave, as are the next two
	// What all waves cost the population together.
	ChargedEpsilon string `json:"charged_epsilon,omitempty"`
	ChargedDelta   string `json:"charged_delta,omitempty"`
	Wave           int64  `json:"wave"`
}

// panelOf returns what the record of a debit says of its panel, nil where there is none.
func (q *Request) panelOf(samples map[string]*Sample) (*panelUse, error) {
	p := q.Panel
	if p == nil {
		return nil, nil
	}
	u := &panelUse{Sample: p.ID, Wave: p.Wave}
	if samples[p.ID] != nil {
		return u, nil
	}
	text, err := privacy.Canonical(p.Event)
	if err != nil {
		return nil, refuse(CodeSample, "the panel cannot be written down: %v", err)
	}
	charged := exactly(q.Charged).Texts()
	u.Name, u.Event, u.ChargedEpsilon, u.ChargedDelta = p.Name, string(text), charged[0], charged[1]
	return u, nil
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
		s = &Sample{ID: u.Sample, Account: a.ID, Debit: seq, Name: u.Name, Event: u.Event, Spent: zero(), Charged: charged, Ready: true}
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

// onePanel refuses a job that treats the table of an account as a wave where others treat it
// as collected by another draw, or the other way round: the sum is not proven.
func (t *tx) onePanel(a *Account, q *Request) error {
	collected, err := t.sample(CollectedID(a.Key))
	if err != nil {
		return err
	}
	if q.Panel != nil && collected != nil {
		return refuse(CodeSample, "the earlier jobs on this data set said that its table was collected by another draw: use another dataset.id for waves of a panel")
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
