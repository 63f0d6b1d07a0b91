package ledger

import "context"

// Act is what somebody did to an account besides spending.
type Act struct {
	Record  int64  `json:"record"`
	At      string `json:"at"`
	By      string `json:"by,omitempty"` // empty in records of earlier versions
	Account int64  `json:"account"`
	What    string `json:"what"` // account, limit, propose, approve, rule, keeps or charge
	LimitText
	EndRule bool     `json:"end_rule,omitempty"`
	Two     bool     `json:"two_persons,omitempty"`
	Raised  bool     `json:"raised,omitempty"`
	Reason  string   `json:"reason,omitempty"`
	Columns []string `json:"columns,omitempty"` // that the account keeps from then on
	// Proposal is the record that an approval carried out.
	Proposal int64 `json:"proposal,omitempty"`
	Life     bool  `json:"over_all_slices,omitempty"`
	// Lifetime is the limit over all slices with which an account was opened.
	Lifetime *LimitText `json:"lifetime,omitempty"`
	// Charged are costs of releases that were made elsewhere.
	Charged []ActCharge `json:"charged,omitempty"`
}

// ActCharge is a cost that was spent elsewhere, and of how many slices.
type ActCharge struct {
	Cost   []string `json:"cost"` // exact, in the account's units
	Slices int      `json:"slices,omitempty"`
}

// Acts returns everything that was done to accounts besides spending, the oldest first.
func (l *Ledger) Acts(ctx context.Context) (out []Act, err error) {
	err = l.read(ctx, func(t *tx) error {
		return t.records("WHERE kind IN ('account', 'limit', 'propose', 'approve', 'rule', 'keeps', 'charge')", func(r Record) error {
			a := Act{}
			if err := decodeSome(r.Body, &a); err != nil {
				return refuse(CodeTampered, "the record %d cannot be read", r.Seq)
			}
			a.Record, a.What = r.Seq, r.Kind
			a.LimitText = a.formatted()
			if r.Kind == kindAccount {
				a.Account = r.Seq
			}
			var c chargeBody
			if r.Kind == kindCharge && decodeSome(r.Body, &c) == nil {
				for _, one := range c.Charges {
					a.Charged = append(a.Charged, ActCharge{one.Cost, len(one.Slices)})
				}
			}
			out = append(out, a)
			return nil
		})
	})
	return out, err
}
