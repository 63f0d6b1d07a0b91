package ledger

import "context"

// Act records a deed of somebody, on the ledger or on an account, besides spending.
type Act struct {
	Record  int64    `json:"record"`
	What    string   `json:"what"` // the kind of the record
	At      string   `json:"at"`
	By      string   `json:"by"`
	Account int64    `json:"account,omitempty"` // 0 for an act about the ledger
	Limit   Limit    `json:"limit,omitzero"`
	EndRule bool     `json:"end_rule,omitempty"`
	Two     bool     `json:"two_persons,omitempty"`
	Raised  bool     `json:"raised,omitempty"`
	Reason  string   `json:"reason,omitempty"`
	Columns []string `json:"columns,omitempty"` // that the account keeps from then on
	// Proposal is the record that an approval carried out.
	Proposal int64 `json:"proposal,omitempty"`
	Life     bool  `json:"over_all_slices,omitempty"`
	// Lifetime is the limit over all slices with which an account was opened.
	Lifetime *Limit `json:"lifetime,omitempty"`
	// Charged are costs of releases that were made elsewhere.
	Charged []ActCharge `json:"charged,omitempty"`
	Was     string      `json:"was,omitempty"`    // the time of the record before, where a clock behind it was accepted
	Lifted  bool        `json:"lifted,omitempty"` // nobody refuses the ledger any more
	// The account that a job named which got an answer, and the job.
	accountName
	Job string `json:"job,omitempty"`
}

// ActCharge is a cost that was spent elsewhere, and of how many slices.
type ActCharge struct {
	Cost   []string `json:"cost"` // exact, in the account's units
	Slices int      `json:"slices,omitempty"`
}

// Acts returns everything that was done besides spending, the oldest first.
func (l *Ledger) Acts(ctx context.Context) ([]Act, error) {
	return reading(ctx, l, func(t *tx) (out []Act, err error) {
		err = t.records("WHERE kind IN ('account', 'limit', 'propose', 'approve', 'rule', 'keeps', 'close', 'charge', "+
			"'clock', 'refuse', 'answer')", func(r Record) error {
			a, err := actOf(&r)
			out = append(out, a)
			return err
		})
		return out, err
	})
}

// actOf reads the act that a record is of.
func actOf(r *Record) (Act, error) {
	var b struct {
		Act
		Charges []struct {
			Cost   []string `json:"cost"`
			Slices []string `json:"slices"`
		} `json:"charges"`
	}
	if decodeSome(r.Body, &b) != nil {
		return b.Act, refuse(CodeTampered, "the record %d cannot be read", r.Seq)
	}
	b.Record, b.What = r.Seq, r.Kind
	if r.Kind == "account" {
		b.Account = r.Seq
	}
	for _, one := range b.Charges {
		b.Charged = append(b.Charged, ActCharge{one.Cost, len(one.Slices)})
	}
	return b.Act, nil
}

// Spend is one debit, to be shown.
type Spend struct {
	Release int64     `json:"release"` // the number of its record
	Account int64     `json:"account"`
	Slice   string    `json:"slice,omitempty"`
	At      string    `json:"at"`
	By      string    `json:"by"`
	Job     string    `json:"job"`
	Digest  string    `json:"digest"`
	State   string    `json:"state"`
	Again   bool      `json:"again,omitempty"`
	Epsilon float64   `json:"epsilon"`
	Delta   float64   `json:"delta"`
	Cost    []string  `json:"cost"` // exact, in the account's units
	Charges []Charge  `json:"releases"`
	Steps   []Stepped `json:"steps,omitempty"` // at the nodes of the account
}

// Spends returns the debits of an account, the oldest first; of all accounts where
// account is 0.
func (l *Ledger) Spends(ctx context.Context, account int64) ([]Spend, error) {
	return reading(ctx, l, func(t *tx) ([]Spend, error) {
		return all(t, func(row scanner) (s Spend, err error) {
			var text, state string
			if err := row.Scan(&s.Release, &s.Account, &state, &text); err != nil {
				return s, err
			}
			if decodeSome(text, &s) != nil {
				return s, refuse(CodeTampered, "the debit %d cannot be read", s.Release)
			}
			s.State = state // that of a body is the ledger's
			return s, nil
		}, "SELECT r.id, r.account, r.state, c.body FROM dprelease_releases r JOIN dprelease_records c ON c.seq = r.id "+
			"WHERE CAST(? AS BIGINT) = 0 OR r.account = ? ORDER BY r.id", account, account)
	})
}
