package ledger

import (
	"context"
	"strings"
)

// Refusal is the act of somebody who refused a ledger for good, or lifted that.
type Refusal struct {
	Record int64  `json:"record"`
	At     string `json:"at"`
	By     string `json:"by"`
	Lifted bool   `json:"lifted,omitempty"`
	Reason string `json:"reason"`
}

// Refuse makes the ledger refuse every spend, such as that of a copy that must not be used any more,
// until somebody lifts that. Both need a reason, which the chain keeps.
func (l *Ledger) Refuse(ctx context.Context, lift bool, reason string) (r Refusal, err error) {
	if strings.TrimSpace(reason) == "" {
		return r, refuse(CodeRefused, "to refuse a ledger, or to lift that, needs a reason, which is recorded")
	}
	err = l.write(ctx, func(t *tx) error {
		if lift == (t.state.refused == "") {
			return refuse(CodeRefused, "%s",
				map[bool]string{true: "nobody refused the ledger: there is nothing to lift", false: "the ledger is refused already"}[lift])
		}
		b := &refuseBody{Lifted: lift, Reason: reason}
		rec, err := t.append(b)
		if err == nil {
			r = b.refusal(rec.Seq)
		}
		return err
	})
	return r, err
}

// Refusals returns who refused the ledger and who lifted that, the oldest first.
func (l *Ledger) Refusals(ctx context.Context) ([]Refusal, error) {
	return reading(ctx, l, (*tx).refusals)
}

func (t *tx) refusals() (out []Refusal, err error) {
	err = eachBody(t, "WHERE kind = 'refuse'", func(r Record, b refuseBody) { out = append(out, b.refusal(r.Seq)) })
	return out, err
}

func (b *refuseBody) refusal(seq int64) Refusal {
	return Refusal{Record: seq, At: b.At, By: b.By, Lifted: b.Lifted, Reason: b.Reason}
}
