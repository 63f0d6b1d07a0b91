package ledger

import (
	"context"
)

// Refuse makes the ledger refuse every spend, such as that of a copy that must not be used any more,
// until somebody lifts that. Both need a reason, which the chain keeps.
func (l *Ledger) Refuse(ctx context.Context, lift bool, reason string) (a Act, err error) {
	err = l.write(ctx, func(t *tx) error {
		if lift == (t.state.refused == "") {
			return refuse(CodeRefused, "%s",
				map[bool]string{true: "nobody refused the ledger: there is nothing to lift", false: "the ledger is refused already"}[lift])
		}
		r, err := t.append(&refuseBody{Lifted: lift, reasoned: reasoned{reason}})
		if err == nil {
			a, err = actOf(r)
		}
		return err
	})
	return a, err
}
