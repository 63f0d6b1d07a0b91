package ledger

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// OpenAccount opens an account; it is an error where it is open already.
func (l *Ledger) OpenAccount(ctx context.Context, k Key, o Opening) (a *Account, err error) {
	err = l.write(ctx, func(t *tx) error {
		if a, err = t.account(k); err != nil {
			return err
		}
		if a != nil {
			return refuse(CodeAccount, "the account of %s is open already, with the filter %s and the limit %s", k, a.Filter, a.Limit)
		}
		a, err = t.open(k, o)
		return err
	})
	return a, err
}

// Account returns the state of an account, nil where it is not open.
func (l *Ledger) Account(ctx context.Context, k Key) (a *Account, err error) {
	err = l.read(ctx, func(t *tx) error {
		a, err = t.account(k)
		return err
	})
	return a, err
}

// Accounts returns all accounts in the order in which they were opened.
func (l *Ledger) Accounts(ctx context.Context) (out []*Account, err error) {
	err = l.read(ctx, func(t *tx) error {
		out, err = t.accounts()
		return err
	})
	return out, err
}

func (t *tx) accounts() ([]*Account, error) {
	rows, err := t.rows("SELECT " + accountColumns + " FROM dprelease_accounts ORDER BY id")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []*Account
	for rows.Next() {
		a, err := scanAccount(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, errors.Join(rows.Err(), rows.Close())
}

// SetLimit changes the limit of an account, for a reason that is recorded. It is
// lowered, or raised where raise says so; never both at once.
//
// # Contract
//
// A limit is raised by nothing else. Proof: ledger.proof.md.
func (l *Ledger) SetLimit(ctx context.Context, k Key, limit Limit, raise bool, reason string) (a *Account, err error) {
	if reason == "" {
		return nil, refuse(CodeLimit, "a change of a limit needs a reason, which is recorded")
	}
	err = l.write(ctx, func(t *tx) error {
		if a, err = t.account(k); err != nil {
			return err
		}
		if a == nil {
			return refuse(CodeAccount, "there is no account of %s", k)
		}
		o := a.Opening
		o.Limit = limit
		if err := o.check(k.Relation); err != nil {
			return err
		}
		switch {
		case raise && (!a.Limit.AtMost(limit) || limit.AtMost(a.Limit)):
			return refuse(CodeLimit, "%s does not raise the limit of %s, which is %s", limit, k, a.Limit)
		case !raise && (!limit.AtMost(a.Limit) || a.Limit.AtMost(limit)):
			return refuse(CodeLimit, "%s does not lower the limit of %s, which is %s", limit, k, a.Limit)
		}
		a.Limit = limit
		eps, delta := limit.Epsilon.RatString(), limit.Delta.RatString()
		if _, err := t.append(kindLimit, &limitBody{Account: a.ID, Epsilon: eps, Delta: delta, Raised: raise, Reason: reason}); err != nil {
			return err
		}
		return t.exec("UPDATE dprelease_accounts SET limit_epsilon = ?, limit_delta = ? WHERE id = ?", eps, delta, a.ID)
	})
	return a, err
}

// Spend is one debit, for people.
type Spend struct {
	Release int64    `json:"release"` // the number of its record
	Account int64    `json:"account"`
	At      string   `json:"at"`
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
		rows, err := t.rows("SELECT r.id, r.account, r.state, c.body FROM dprelease_releases r JOIN dprelease_records c ON c.seq = r.id WHERE CAST(? AS BIGINT) = 0 OR r.account = ? ORDER BY r.id", account, account)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var s Spend
			var text string
			var b debitBody
			if err := rows.Scan(&s.Release, &s.Account, &s.State, &text); err != nil {
				return err
			}
			if decode(text, &b) != nil {
				return refuse(CodeTampered, "the debit %d cannot be read", s.Release)
			}
			s.At, s.Job, s.Digest, s.Again, s.Epsilon, s.Delta, s.Cost, s.Charges, s.Draws = b.At, b.Job, b.Digest, b.Again, b.Epsilon, b.Delta, b.Cost, b.Releases, b.Draws
			out = append(out, s)
		}
		return errors.Join(rows.Err(), rows.Close())
	})
	return out, err
}

// Records hands every record of the chain to visit, in order.
func (l *Ledger) Records(ctx context.Context, visit func(Record) error) error {
	return l.read(ctx, func(t *tx) error { return t.records(visit) })
}

func (t *tx) records(visit func(Record) error) error {
	rows, err := t.rows("SELECT seq, kind, body, prev, hash FROM dprelease_records ORDER BY seq")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var r Record
		if err := rows.Scan(&r.Seq, &r.Kind, &r.Body, &r.Prev, &r.Hash); err != nil {
			return err
		}
		if err := visit(r); err != nil {
			return err
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// Mark is what a published release says of its ledger.
type Mark struct {
	Ledger string
	Seq    int64
	Head   string
}

// Witness compares the ledger with releases that were seen. A release that is
// newer than the ledger, or of another line of its history, shows that this is an
// old or copied ledger: that is remembered, and it never debits again. Releases of
// other ledgers say nothing.
func (l *Ledger) Witness(ctx context.Context, seen ...Mark) error {
	heads := map[int64]string{}
	var marks []Mark
	for _, m := range seen {
		if m.Ledger == l.id && m.Seq > 0 {
			marks = append(marks, m)
			heads[m.Seq] = ""
		}
	}
	if len(marks) == 0 {
		return nil
	}
	if err := l.read(ctx, func(t *tx) error { return t.hashes(heads) }); err != nil {
		return err
	}
	at := slices.IndexFunc(marks, func(m Mark) bool { return heads[m.Seq] != m.Head })
	if at < 0 {
		return nil
	}
	why := "release " + strconv.FormatInt(marks[at].Seq, 10)
	if err := l.write(ctx, func(t *tx) error {
		return t.exec("UPDATE dprelease_head SET refused = ? WHERE one = 1 AND refused = ''", why)
	}); err != nil {
		return err
	}
	return refuse(CodeRolledBack, "%s is an old copy: a release was seen that is newer than it (%s); restore the newest copy", l.address, why)
}

// hashes fills in the hashes of records; those that are not there stay empty.
func (t *tx) hashes(of map[int64]string) error {
	args := make([]any, 0, len(of))
	for seq := range of {
		args = append(args, seq)
	}
	rows, err := t.rows("SELECT seq, hash FROM dprelease_records WHERE seq IN (?"+strings.Repeat(", ?", len(of)-1)+")", args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var seq int64
		var hash string
		if err := rows.Scan(&seq, &hash); err != nil {
			return err
		}
		of[seq] = hash
	}
	return errors.Join(rows.Err(), rows.Close())
}
