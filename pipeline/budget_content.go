package pipeline

import (
	"context"
	"encoding/hex"
	"errors"

	"github.com/dprelease/dprelease/internal/table"
)

// contentText is the content in the ledger's words, "" while it is not known.
func (b *budget) contentText() string {
	if b.content == nil {
		return ""
	}
	return hex.EncodeToString(b.content[:])
}

// fingerprint finds out what the data are. It reads the stored bytes of every
// column that the job reads, and decodes none of them.
func (b *budget) fingerprint(ctx context.Context, t *openedTable) error {
	f, err := t.table.Fingerprint(ctx, b.plan.columns(), table.Key(b.ledger.ContentKey()))
	if err != nil {
		return err
	}
	b.content = &f
	return nil
}

// beside finds out what the data are while they are drawn from: the bytes that the
// one reads are still in memory when the other wants them, so that a first run
// reads the disk once. stop waits for the end.
func (b *budget) beside(ctx context.Context, t *openedTable) (stop func(err error) error) {
	if b.content != nil {
		// Known from before the debit; the table itself notices a change since.
		return func(err error) error { return err }
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- b.fingerprint(ctx, t) }()
	return func(err error) error {
		if err != nil {
			cancel()
		}
		mine := <-done
		cancel()
		if err != nil {
			return err
		}
		return errors.Join(mine)
	}
}
