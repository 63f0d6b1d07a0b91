package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/step"
)

// Node is a part of an account that outlives a run and that later jobs use at a lower price. All of this is public; the rows
// of a kept sample and the secret of a panel are not, and stand sealed beside it (P19). As JSON it is its row, to which the tree
// of digests commits.
type Node struct {
	ID      string
	Kind    string
	Account int64
	Slice   string // to which it belongs, "" for all of the account
	Debit   int64  // the record that began it
	Begin
	Open bool  // jobs may use it
	Uses int64 // jobs that were debited for it
	step.State
	Content string // keyed digest of the whole table that a sample was drawn from, "" until its rows are stored
	Digest  string // SHA-256 of what is sealed
}

// The kinds of nodes. The data themselves are a node without an id and without a kind.
const (
	KindDraw      = "draw"      // a sample whose rows the ledger keeps
	KindCollected = "collected" // the draw that made the table, for all jobs of an account or slice
	KindPanel     = "panel"     // a rotation, whose units were allotted to waves once
	KindSeries    = "series"    // figures of many periods, which are slices of the account
)

// Begin is said of a node by the job that begins it. It never changes.
type Begin struct {
	Name  string `json:"name,omitempty"`
	Event string `json:"event,omitempty"` // canonical bytes: a design, or what is done in each wave or step
	Facts string `json:"facts,omitempty"` // JSON: what else is public of it
	Parts []Part `json:"parts,omitempty"` // the slices of a series, in their order
	Pins  []Pin  `json:"pins,omitempty"`
}

// Part is one step of a series: its slice, and its plan.
type Part struct {
	Is   string `json:"is"`
	Plan string `json:"plan"`
}

// nodeKey is the key of a node in the tree of digests.
func nodeKey(id string) string { return "node\n" + id }

// node begins the node of a record.
func (s *Stepped) node(debit int64, a *Account) *Node {
	n := &Node{ID: s.Node, Kind: s.Begins, Account: a.ID, Debit: debit, Begin: s.Begin, State: step.Fresh(), Digest: s.SHA256}
	n.Open = n.Kind != KindDraw
	if n.Kind == KindDraw || n.Kind == KindCollected {
		n.Slice = a.Slice.Is
	}
	return n
}

// kind returns the rule by which steps at the node are priced.
func (n *Node) kind() (step.Kind, error) {
	switch n.Kind {
	case "":
		return step.Data{}, nil
	case KindDraw, KindCollected:
		draw, err := n.Sampling()
		return step.Draw{Sampling: draw}, err
	case KindPanel:
		return step.Panel{}, nil
	case KindSeries:
		return step.Series{}, nil
	}
	return nil, refuse(CodeTampered, "%s is of no kind that is known", n)
}

// Sampling returns the design of a draw as an event.
func (n *Node) Sampling() (privacy.Sampling, error) {
	e, err := privacy.FromCanonical([]byte(n.Event))
	draw, ok := e.(privacy.Sampling)
	if err != nil || !ok {
		return nil, refuse(CodeTampered, "the design of %s cannot be read", n)
	}
	return draw, nil
}

// usable explains why a job of an account cannot use a node, nil where it can.
func (n *Node) usable(account int64, slice string) error {
	switch {
	case n.Account != account || n.Slice != slice && n.Kind != KindSeries:
		return refuse(CodeSample, "%s belongs to another data set, slice, unit of privacy or relation", n)
	case n.Open:
		return nil
	case n.Kind == KindPanel:
		return refuse(CodeSample, "%s was closed: who is in which wave is no longer known", n)
	}
	return refuse(CodeSample, "%s was never stored: the job that drew it did not finish", n)
}

func (n *Node) String() string {
	switch {
	case n.Kind == KindPanel && n.Name == "":
		return "the panel of this data set"
	case n.Kind == KindPanel:
		return "panel " + n.Name
	case n.Kind == KindSeries:
		return "the series"
	}
	return "sample " + n.ID
}

// secret reports whether the ledger keeps the secret of a panel.
func (n *Node) secret() bool { return n.Kind == KindPanel && n.Digest != "" }

const nodeColumns = "id, kind, account, debit, state"

func scanNode(s scanner) (*Node, error) {
	var n Node
	var id, kind, state string
	var account, debit int64
	if err := s.Scan(&id, &kind, &account, &debit, &state); err != nil {
		return nil, err
	}
	err := decode(state, &n)
	n.ID, n.Kind, n.Account, n.Debit = id, kind, account, debit
	if err != nil || !n.Spent.Finite() || !n.Charged.Finite() || slices.ContainsFunc(n.Done, func(at int64) bool { return at < 1 }) {
		return nil, refuse(CodeTampered, "a node of an account cannot be read")
	}
	return &n, nil
}

// node finds a node, nil where there is none, and holds it to the chain.
func (t *tx) node(id string) (*Node, error) {
	found, err := t.nodes("WHERE id = ?", id)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, t.holds(nodeKey(id), nil, "a node is gone: a table of the ledger")
	}
	t.books.nodes[id] = found[0]
	return found[0], t.holds(nodeKey(id), found[0], found[0].String())
}

func (t *tx) nodes(where string, args ...any) ([]*Node, error) {
	return all(t, scanNode, "SELECT "+nodeColumns+" FROM dprelease_nodes "+where+" ORDER BY debit, id", args...)
}

// Node returns what the ledger knows of a node, nil where there is none.
func (l *Ledger) Node(ctx context.Context, id string) (*Node, error) {
	return reading(ctx, l, func(t *tx) (*Node, error) { return t.node(id) })
}

// Nodes returns the nodes of an account in the order in which they began; of all accounts where account is 0.
func (l *Ledger) Nodes(ctx context.Context, account int64) ([]*Node, error) {
	return reading(ctx, l, func(t *tx) ([]*Node, error) {
		return t.nodes("WHERE CAST(? AS BIGINT) = 0 OR account = ?", account, account)
	})
}

// saveNode stores what records say of a node: all but what is sealed.
func (t *tx) saveNode(n *Node) error {
	state, err := encode(n)
	if err != nil {
		return err
	}
	return t.upsert("dprelease_nodes", "id", "kind, account, debit", "state", []any{n.ID, n.Kind, n.Account, n.Debit, state})
}

// conceal encrypts the rows of the samples that a release keeps, and says what its seal says
// of them.
func (t *tx) conceal(k *Ticket, kept []Rows) (said []sealedRows, sealed map[string][]byte, err error) {
	given := map[string]Rows{}
	for _, r := range kept {
		given[r.Sample] = r
	}
	if len(given) != len(kept) || len(kept) != len(k.keeps) {
		return nil, nil, refuse(CodeSample, "the rows of the samples that this release keeps were not given")
	}
	sealed = map[string][]byte{}
	for _, id := range k.keeps {
		n, err := t.node(id)
		if err != nil {
			return nil, nil, err
		}
		r, ok := given[id]
		if n == nil || n.Debit != k.Release || !ok || r.Content == "" {
			return nil, nil, refuse(CodeSample, "the rows of sample %s were not given", id)
		}
		of := *n
		of.Content = r.Content
		if sealed[id], err = t.l.conceal(&of, "", r.Data); err != nil {
			return nil, nil, err
		}
		said = append(said, sealedRows{Sample: id, Content: r.Content, SHA256: digestOf(sealed[id])})
	}
	return said, sealed, nil
}

// CollectedID is the id of the draw that made the table of an account itself a
// sample of a population. It is one draw for all jobs of the account: what they
// release is composed on the table first and amplified once (P4). A slice that was
// collected by a draw of its own has an id of its own; one collection of several slices
// has none and amplifies nothing (P26).
func CollectedID(k Key) string {
	text := "dprelease collected 1\n" + k.name().text()
	if k.Slice.Column != "" {
		text += "\n" + spelled(k.Slice.Is)
	}
	return idOf(text)
}

// PanelID returns the id of a panel of an account. Its units were allotted once: all jobs of
// the account that name it are about the same allotment. Drawn tells panels of the ledger's own
// from those that somebody else drew.
func PanelID(k Key, name string, drawn bool) string {
	about := "dprelease panel 1\n"
	if drawn {
		about = "dprelease drawn panel 1\n"
	}
	return idOf(about + k.name().text() + "\n" + name)
}

func idOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}
