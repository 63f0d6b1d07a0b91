package ledger

import (
	"context"
	"encoding/json"
	"time"
)

// Clock compares the clock that all users of a ledger share with its records.
type Clock struct {
	Now    time.Time // by that clock
	Newest time.Time // of the newest record
	Record int64     // its number
	Kind   string
	// Ahead is the first of the newest records whose time is later than Now; 0 if the
	// newest one's is not.
	Ahead int64
}

// Behind returns how far the clock is behind the newest record, 0 where it is near
// enough to write another one.
func (c Clock) Behind() time.Duration {
	if back := c.Newest.Sub(c.Now); back > clockSlack {
		return back
	}
	return 0
}

// Clock returns how the clock stands, without changing anything.
func (l *Ledger) Clock(ctx context.Context) (Clock, error) {
	return reading(ctx, l, func(t *tx) (c Clock, err error) {
		if c.Now, err = t.now(); err != nil {
			return c, err
		}
		return c, t.records("", func(r Record) error {
			at, err := timeOf(r.Body)
			if err != nil {
				return refuse(CodeTampered, "record %d has no time", r.Seq)
			}
			switch {
			case !at.After(c.Now):
				c.Ahead = 0
			case c.Ahead == 0:
				c.Ahead = r.Seq
			}
			c.Newest, c.Record, c.Kind = at, r.Seq, r.Kind
			return nil
		})
	})
}

// timeOf is the time of a record.
func timeOf(body string) (time.Time, error) {
	var s stamp
	if err := json.Unmarshal([]byte(body), &s); err != nil {
		return time.Time{}, err
	}
	at, err := time.Parse(time.RFC3339Nano, s.At)
	return at.UTC(), err
}

// AcceptClock records that the clock is right, and that later times continue from it
// although the newest records are ahead of it. The record says who accepted it and why.
//
// # Contract
//
// Nothing but times changes: no spend, limit, state or token, and no order of
// records. It is refused where the clock is not behind, and on an old copy. The
// lease of a run elsewhere, which was given by the clock that was ahead, ends no
// later than a lease that is given now. Proof: ledger.proof.md.
func (l *Ledger) AcceptClock(ctx context.Context, reason string) (a Act, err error) {
	err = l.change(ctx, func(t *tx) error {
		if err := t.latch(); err != nil {
			return err
		}
		if err := t.admitted(); err != nil {
			return err
		}
		if t.state.at.Sub(t.at) <= clockSlack {
			return refuse(CodeClock, "the clock is not behind the newest record of %s: there is nothing to accept", l.address)
		}
		r, err := t.append(&clockBody{Was: t.state.at.Format(timeForm), reasoned: reasoned{reason}})
		if err != nil {
			return err
		}
		if a, err = actOf(r); err != nil {
			return err
		}
		until := t.at.Add(DefaultLease).UnixMicro()
		return t.exec("UPDATE dprelease_releases SET lease_until = ? WHERE state = ? AND lease_until > ?", until, Debited, until)
	})
	return a, err
}
