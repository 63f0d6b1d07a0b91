package ledger

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
)

// newSecret draws the secret by which the units of a panel that begins are allotted, and encrypts it.
func (t *tx) newSecret(n *Node) ([]byte, error) {
	key := make([]byte, allotmentKey)
	rand.Read(key)
	own, err := t.makeKey(n.ID)
	if err != nil {
		return nil, err
	}
	return t.l.conceal(n, own, key)
}

// allotmentKey is the number of bytes of the secret by which the units of a panel are allotted.
const allotmentKey = 32

// Allotment returns the secret by which the units of a panel are allotted to its waves. Whoever has
// it knows who is in which wave.
//
// # Contract
//
// The secret is drawn once, by the debit of the first wave, and is durable before anything is drawn
// with it. It is the same for all waves, until ClosePanel destroys it: no other is ever made for the
// panel. Proof: panel.proof.md.
func (l *Ledger) Allotment(ctx context.Context, panel string) ([]byte, error) {
	key, err := l.Rows(ctx, panel)
	if err == nil && len(key) != allotmentKey {
		err = refuse(CodeTampered, "the secret of a panel cannot be read")
	}
	return key, err
}

// ClosePanel destroys the key of the secret by which the units of a panel are allotted, for a reason
// that is recorded. No wave of the panel can be released any more. kept says what may still hold the
// key: the ledger cannot reach it. Closing once more records nothing, and destroys what the first time
// could not.
//
// # Contract
//
// No file of the database holds the key afterwards; for SQLite nor does its log. Without the key the
// secret cannot be told from noise. Proof: panel.proof.md.
func (l *Ledger) ClosePanel(ctx context.Context, k Key, name, reason string) (kept string, err error) {
	err = l.write(ctx, func(t *tx) error {
		a, err := t.opened(k)
		if err != nil {
			return err
		}
		id := PanelID(a.Key, name, true)
		n, err := t.node(id)
		switch {
		case err != nil:
			return err
		case n == nil:
			return refuse(CodeSample, "the account of %s has no panel %s that was drawn here", k, name)
		case !n.Open:
			return nil
		}
		if _, err := t.append(&closeBody{Account: a.ID, Node: id, reasoned: reasoned{reason}}); err != nil {
			return err
		}
		return errors.Join(t.destroyKey(id), t.exec("UPDATE dprelease_nodes SET sealed = NULL WHERE id = ?", id))
	})
	if err != nil {
		return "", err
	}
	return l.dialect.keep, l.wipeLog(ctx)
}

// closeBody says that the secret of a panel was destroyed.
type closeBody struct {
	stamp
	Account int64  `json:"account"`
	Node    string `json:"node"`
	reasoned
}

func (r *closeBody) enter(b *books, _ int64) error {
	n := b.nodes[r.Node]
	if n == nil || n.Account != r.Account || !n.secret() {
		return fmt.Errorf("the end of a panel that is not there, or has no secret")
	}
	n.Open, n.Digest = false, ""
	b.changed.nodes = append(b.changed.nodes, n)
	return nil
}

// sharing lists what of an account a job is part of: the slices of a series, which may hold the rows of one another, and a
// panel that somebody else drew.
type sharing struct {
	alike     []string
	allotment string // the id of the panel, "" for none
}

// sharing lists what the job is part of.
func (q *Request) sharing() (out sharing) {
	for _, s := range q.Steps {
		for _, p := range s.Parts {
			if q.Alike {
				out.alike = append(out.alike, spelled(p.Is))
			}
		}
		if s.Begins == KindPanel && !s.Secret {
			out.allotment = s.Node
		}
	}
	return out
}
