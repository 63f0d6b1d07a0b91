package ledger

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Format is the version of the records of a chain that begins now. A chain of format 1
// has no state in its records up to a record of the kind upgrade.
const Format = 2

// genesis is what the first record follows.
var genesis = strings.Repeat("0", 64)

// Record is one entry of the chain. Body is JSON, kept as the text that was hashed.
type Record struct {
	Seq  int64  `json:"seq"`
	Kind string `json:"kind"`
	Body string `json:"body"`
	Prev string `json:"prev"`
	Hash string `json:"hash"`
}

// hashRecord is what chains the records: over the ledger, the place, the kind,
// the hash before, and the exact text of the body. None of the parts in front of
// the body can hold a line end.
func hashRecord(ledger string, r *Record) string {
	h := sha256.New()
	h.Write([]byte("dprelease ledger 1\n" + ledger + "\n" + strconv.FormatInt(r.Seq, 10) + "\n" + r.Kind + "\n" + r.Prev + "\n" + r.Body))
	return hex.EncodeToString(h.Sum(nil))
}

// body is what a record says. Every body has a stamp.
type body interface{ stamped() *stamp }

// stamp is what every record holds: when it was written, who acted, and the state of the
// ledger after it.
type stamp struct {
	At    string    `json:"at"`
	By    string    `json:"by,omitempty"`
	After []Balance `json:"after,omitempty"` // of the accounts that the record changed
	State string    `json:"state,omitempty"` // the root of the tree
}

func (s *stamp) stamped() *stamp { return s }

// The kinds of records.
const (
	kindLedger  = "ledger"
	kindAccount = "account"
	kindLimit   = "limit"
	kindDebit   = "debit"
	kindSeal    = "seal"
	kindPublish = "publish"
	kindAbandon = "abandon"
	kindClock   = "clock"
	kindUpgrade = "upgrade"
	kindPropose = "propose"
	kindApprove = "approve"
	kindRule    = "rule"
)

type ledgerBody struct {
	stamp
	Format int    `json:"format"`
	Ledger string `json:"ledger"`
	Secret string `json:"secret,omitempty"` // SHA-256 of the ledger's secret
}

// upgradeBody says that a program of a newer version replayed the chain, found that the
// tables follow from it, and wrote them anew. The stamp holds the state of every account.
type upgradeBody struct {
	stamp
	From   int    `json:"from"` // versions of the tables
	To     int    `json:"to"`
	Secret string `json:"secret"`
}

type accountBody struct {
	stamp
	Dataset  string    `json:"dataset"`
	Unit     string    `json:"unit"`
	Relation string    `json:"relation"`
	Filter   string    `json:"filter"`
	Orders   []float64 `json:"orders,omitempty"`
	LimitText
	Two      bool       `json:"two_persons,omitempty"`
	Keeps    []string   `json:"keeps,omitzero"`
	Slice    string     `json:"slices_by,omitempty"` // the column
	Lifetime *LimitText `json:"lifetime,omitempty"`
}

type limitBody struct {
	stamp
	Account int64 `json:"account"`
	LimitText
	Raised bool   `json:"raised"`
	Reason string `json:"reason"`
	Life   bool   `json:"over_all_slices,omitempty"`
}

// proposeBody asks a second person for a larger limit, or for the end of the rule that
// two persons raise it.
type proposeBody struct {
	stamp
	Account int64 `json:"account"`
	LimitText
	EndRule bool   `json:"end_rule,omitempty"`
	Reason  string `json:"reason"`
	Life    bool   `json:"over_all_slices,omitempty"`
}

type approveBody struct {
	stamp
	Account  int64 `json:"account"`
	Proposal int64 `json:"proposal"` // the record
}

// ruleBody says that from now on two persons raise the limit of an account.
type ruleBody struct {
	stamp
	Account int64  `json:"account"`
	Reason  string `json:"reason"`
}

type debitBody struct {
	stamp
	Account  int64    `json:"account"`
	Plan     string   `json:"plan"`
	Job      string   `json:"job"`
	Digest   string   `json:"digest"`
	Again    bool     `json:"again,omitempty"`
	Epsilon  float64  `json:"epsilon"`
	Delta    float64  `json:"delta"`
	Cost     []string `json:"cost"`
	Releases []Charge `json:"releases"`
	Draws    []Draw   `json:"draws,omitempty"`
	Keeps    []string `json:"keeps,omitempty"` // in which the neighbours that the job protects agree
	Slice    string   `json:"slice,omitempty"` // that is debited, of an account with slices
}

// Draw is what a debit says of one kept sample. Amounts are exact.
type Draw struct {
	Sample string `json:"sample"`
	Name   string `json:"name,omitempty"`   // set by the job that drew it, as are the next two
	Event  string `json:"event,omitempty"`  // the design
	Design string `json:"design,omitempty"` // what else is public of it
	// Collected says that the draw made the table, and has no rows of its own.
	Collected bool   `json:"collected,omitempty"`
	Epsilon   string `json:"sample_epsilon"` // what this job spends on the sample
	Delta     string `json:"sample_delta"`
	// What the draw costs the population in all, this job included, and what of it
	// this job is charged, in the account's units.
	ChargedEpsilon string   `json:"charged_epsilon"`
	ChargedDelta   string   `json:"charged_delta"`
	Cost           []string `json:"cost"`
}

type sealBody struct {
	stamp
	Release int64        `json:"release"`
	Content string       `json:"content"`
	Archive string       `json:"archive"`
	Files   []Sum        `json:"files"`
	Samples []sealedRows `json:"samples,omitempty"`
}

// sealedRows says which bytes hold the rows of a kept sample, and of which table.
type sealedRows struct {
	Sample  string `json:"sample"`
	Content string `json:"content"`
	SHA256  string `json:"sha256"` // of the encrypted rows
}

type publishBody struct {
	stamp
	Release int64 `json:"release"`
}

type abandonBody struct {
	stamp
	Release int64 `json:"release"`
}

type clockBody struct {
	stamp
	Was    string `json:"was"` // the time of the record before it
	Reason string `json:"reason"`
}

// append adds a record to the chain, and stores the accounts that it changed. The head
// is locked by this transaction, and every other row that the record is about is written.
func (t *tx) append(kind string, b body, changed ...*Account) (*Record, error) {
	r := &Record{Seq: t.state.seq + 1, Kind: kind, Prev: t.state.hash}
	s := b.stamped()
	s.At, s.By = t.at.UTC().Format(timeForm), t.l.by
	for _, a := range changed {
		a.Acts++
		a.last = r.Seq
		s.After = append(s.After, a.balance())
		if err := errors.Join(t.saveAccount(a), t.commit(a.key(), a.row())); err != nil {
			return nil, err
		}
	}
	if err := t.saveNodes(); err != nil {
		return nil, err
	}
	if t.tree != nil {
		t.state.root = t.tree.root()
	}
	s.State = t.state.root
	var err error
	if r.Body, err = encode(b); err != nil {
		return nil, err
	}
	r.Hash = hashRecord(t.state.ledger, r)
	if err := t.exec("INSERT INTO dprelease_records (seq, kind, body, prev, hash) VALUES (?, ?, ?, ?, ?)", r.Seq, r.Kind, r.Body, r.Prev, r.Hash); err != nil {
		return nil, err
	}
	t.state.seq, t.state.hash, t.state.at = r.Seq, r.Hash, t.at
	return r, t.exec("UPDATE dprelease_head SET seq = ?, hash = ?, at = ? WHERE one = 1", r.Seq, r.Hash, t.at.UnixMicro())
}

// untimed gives the next record the time of the record before it. Others see exports, and
// the time from a debit to its seal tells how long the run read the table (P19).
func (t *tx) untimed() { t.at = t.state.at }

func encode(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// decodeSome reads those parts of a body that into has.
func decodeSome(text string, into any) error { return json.Unmarshal([]byte(text), into) }

// decode reads a body strictly: a key that this program does not know would be
// something that it does not check.
func decode(text string, into any) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// Records hands every record of the chain to visit, in order.
func (l *Ledger) Records(ctx context.Context, visit func(Record) error) error {
	return l.read(ctx, func(t *tx) error { return t.records("", visit) })
}

func (t *tx) records(where string, visit func(Record) error) error {
	return t.each(func(row scanner) error {
		var r Record
		if err := row.Scan(&r.Seq, &r.Kind, &r.Body, &r.Prev, &r.Hash); err != nil {
			return err
		}
		return visit(r)
	}, "SELECT seq, kind, body, prev, hash FROM dprelease_records "+where+" ORDER BY seq")
}

// eachBody hands those records to visit whose bodies are read as a B.
func eachBody[B any](t *tx, where string, visit func(Record, B)) error {
	return t.records(where, func(r Record) error {
		var b B
		if decodeSome(r.Body, &b) != nil {
			return refuse(CodeTampered, "the record %d cannot be read", r.Seq)
		}
		visit(r, b)
		return nil
	})
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
		if seq := marks[at].Seq; seq <= t.state.seq && heads[seq] == "" {
			return t.tampered(fmt.Sprintf("record %d is missing, and a release that it paid for was seen", seq))
		}
		return t.exec("UPDATE dprelease_head SET refused = ? WHERE one = 1 AND refused = ''", why)
	}); err != nil {
		return err
	}
	return l.address.rolledBack(why)
}

// hashes fills in the hashes of records; those that are not there stay empty.
func (t *tx) hashes(of map[int64]string) error {
	args := make([]any, 0, len(of))
	for seq := range of {
		args = append(args, seq)
	}
	return t.each(func(row scanner) error {
		var seq int64
		var hash string
		err := row.Scan(&seq, &hash)
		of[seq] = hash
		return err
	}, "SELECT seq, hash FROM dprelease_records WHERE seq IN ("+marks(len(of))+")", args...)
}
