package ledger

import "context"

// Spend is one debit, to be shown.
type Spend struct {
	Release int64    `json:"release"` // the number of its record
	Account int64    `json:"account"`
	Slice   string   `json:"slice,omitempty"`
	At      string   `json:"at"`
	By      string   `json:"by,omitempty"`
	Job     string   `json:"job"`
	Digest  string   `json:"digest"`
	State   string   `json:"state"`
	Again   bool     `json:"again,omitempty"`
	Epsilon float64  `json:"epsilon"`
	Delta   float64  `json:"delta"`
	Cost    []string `json:"cost"` // exact, in the account's units
	Charges []Charge `json:"releases"`
	Draws   []Draw   `json:"draws,omitempty"` // the kept samples that it made or used
}

// Spends returns the debits of an account, the oldest first; of all accounts where
// account is 0.
func (l *Ledger) Spends(ctx context.Context, account int64) (out []Spend, err error) {
	err = l.read(ctx, func(t *tx) error {
		return t.each(func(row scanner) error {
			var s Spend
			var text string
			var b debitBody
			if err := row.Scan(&s.Release, &s.Account, &s.State, &text); err != nil {
				return err
			}
			if decode(text, &b) != nil {
				return refuse(CodeTampered, "the debit %d cannot be read", s.Release)
			}
			s.At, s.By, s.Job, s.Digest, s.Again, s.Epsilon, s.Delta, s.Cost, s.Charges, s.Draws, s.Slice = b.At, b.By, b.Job, b.Digest, b.Again, b.Epsilon, b.Delta, b.Cost, b.Releases, b.Draws, b.Slice
			out = append(out, s)
			return nil
		}, "SELECT r.id, r.account, r.state, c.body FROM dprelease_releases r JOIN dprelease_records c ON c.seq = r.id WHERE CAST(? AS BIGINT) = 0 OR r.account = ? ORDER BY r.id", account, account)
	})
	return out, err
}
