package ledger

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/step"
)

// Ticket is the right to seal one release.
type Ticket struct {
	Ledger  string
	Release int64
	Seq     int64  // of the debit
	Head    string // its hash: what a release carries
	Account Account
	Cost    privacy.Cost
	Steps   []*step.Price   // what each step of the request cost
	Columns []Column        // that were read: the run sets their digests before the seal
	Tables  []Table         // as in the request
	Made    map[string]Made // what the run did at each node, by its id: the run sets it before the seal

	token   int64
	job     string // its name
	content string
	billed  map[string]Made // what was debited
	keeps   []string        // samples whose rows the seal must bring
	lease   time.Duration
	of      sharing
}

// DefaultLease is for how long a run is believed to be alive without a sign of it.
const DefaultLease = 30 * time.Second

// held reads the release of a ticket and refuses a holder that was overtaken.
func (t *tx) held(k *Ticket) (*Release, error) {
	r, err := t.release(k.Release)
	switch {
	case err != nil:
		return nil, err
	case r == nil:
		return nil, refuse(CodeRolledBack, "the debit of this run is gone from %s", t.l.address)
	case r.State != Debited || r.token != k.token:
		return nil, refuse(CodeLease, "this run was taken for dead and another one has taken its place; it publishes nothing")
	}
	return r, nil
}

// Renew records that the run is alive.
func (l *Ledger) Renew(ctx context.Context, k *Ticket) error {
	return l.write(ctx, func(t *tx) error {
		if _, err := t.held(k); err != nil {
			return err
		}
		return t.hold(k)
	})
}

// hold lets the lease of a ticket run from now.
func (t *tx) hold(k *Ticket) error {
	return t.exec("UPDATE dprelease_releases SET holder = ?, lease_until = ? WHERE id = ?", t.holding(k.lease),
		t.at.Add(k.lease).UnixMicro(), k.Release)
}

// holding names the holder of a lease. A test that sets the clock sets that of the
// lease as well.
func (t *tx) holding(lease time.Duration) string {
	if t.l.options.clock != nil {
		name, _, _ := strings.Cut(holding(lease), "@")
		return name
	}
	return holding(lease)
}

// Keep renews the ticket's lease until stop is called. The context that it
// returns ends when the lease is lost.
func (l *Ledger) Keep(ctx context.Context, k *Ticket) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer func() {
			if recover() != nil { // its words may quote a value (P20)
				cancel(errRenewing)
			}
			close(done)
		}()
		cancel(l.renewing(ctx, k))
	}()
	return ctx, func() { cancel(context.Canceled); <-done }
}

var errRenewing = errors.New("ledger: the lease cannot be renewed")

// renewing renews the lease of a ticket until the context ends, or returns why the lease is lost.
func (l *Ledger) renewing(ctx context.Context, k *Ticket) error {
	tick := time.NewTicker(k.lease / 3)
	defer tick.Stop()
	failing := time.Time{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		err := l.Renew(ctx, k)
		var known *Error
		switch {
		case err == nil:
			failing = time.Time{}
			continue
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &known) && known.Code == CodeLocked && (failing.IsZero() || time.Since(failing) < k.lease):
			if failing.IsZero() {
				failing = time.Now()
			}
			continue
		}
		return err
	}
}

// Seal makes the bytes of a release durable, under the content that was read.
//
// # Contract
//
// Afterwards these bytes, and no others, are what this plan released from this
// content. It fails for a holder that was overtaken, and where the same plan was
// released from the same content already. Proof: ledger.proof.md.
//
// The rows of every sample that the release keeps must be given; they become
// durable, and the samples usable, in the same transaction.
//
// The ticket's columns are remembered: no other account can then be charged for them, and no
// other slice for all of them, unless a person says so (same.go, same_slices.go).
func (l *Ledger) Seal(ctx context.Context, k *Ticket, content string, files []File, kept ...Rows) error {
	if content == "" || k.content != "" && k.content != content {
		return refuse(CodeChanged, "the table changed while it was read; nothing was published, and the budget is spent")
	}
	if err := k.drawn(); err != nil {
		return err
	}
	archive, err := pack(files)
	if err != nil {
		return err
	}
	digest := digestOf(archive)
	var told error
	err = l.write(ctx, func(t *tx) error {
		r, err := t.held(k)
		if err != nil {
			return err
		}
		others, err := t.releasesOf(r.Plan)
		if err != nil {
			return err
		}
		for _, o := range others {
			if o.Content == content {
				return refuse(CodeReleased,
					"the same releases were made from the same data already; these are not published, and their budget is spent")
			}
		}
		_, err = t.same(k.Account.Key, k.Columns, k.Tables, k.of)
		if told, err = t.recordAnswer(k.Account.Key, k.job, err); told != nil || err != nil {
			return err
		}
		columns, marks, err := t.charged(k)
		if err != nil {
			return err
		}
		sums := make([]Sum, len(files))
		for i, f := range files {
			sums[i] = Sum{Path: f.Path, SHA256: digestOf(f.Data)}
		}
		said, rows, err := t.conceal(k, kept)
		if err != nil {
			return err
		}
		t.untimed()
		if _, err := t.append(&sealBody{Release: k.Release, Content: content, Archive: digest, Files: sums, Samples: said,
			Columns: marks}); err != nil {
			return err
		}
		if err := t.saveColumns(columns); err != nil {
			return err
		}
		for id, sealed := range rows {
			if err := t.exec("UPDATE dprelease_nodes SET sealed = ? WHERE id = ?", sealed, id); err != nil {
				return err
			}
		}
		return t.exec("INSERT INTO dprelease_archives (release, archive) VALUES (?, ?)", k.Release, archive)
	})
	return cmp.Or(err, told)
}
