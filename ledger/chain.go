package ledger

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Format is the version of the records, which the first one states.
const Format = 1

// genesis is the hash that the first record follows.
var genesis = strings.Repeat("0", 64)

// Record is one entry of the chain. Body is JSON, kept as the text that was hashed.
type Record struct {
	Seq  int64  `json:"seq"`
	Kind string `json:"kind"`
	Body string `json:"body"`
	Prev string `json:"prev"`
	Hash string `json:"hash"`
}

// hashRecord returns the hash that chains the records: over the ledger, the place, the
// kind, the hash before, and the exact text of the body. None of the parts in front of
// the body can hold a line end.
func hashRecord(ledger string, r *Record) string {
	h := sha256.New()
	h.Write([]byte("dprelease ledger 1\n" + ledger + "\n" + strconv.FormatInt(r.Seq, 10) + "\n" + r.Kind + "\n" + r.Prev + "\n" + r.Body))
	return hex.EncodeToString(h.Sum(nil))
}

// body is the content of a record, and its meaning: enter carries it out on books. Every body
// has a stamp.
type body interface {
	stamped() *stamp
	enter(b *books, seq int64) error
}

// stamp holds the facts of every record: when it was written, who acted, and the state of the
// ledger after it.
type stamp struct {
	At    string          `json:"at"`
	By    string          `json:"by"`
	After json.RawMessage `json:"after,omitempty"` // the accounts that the record changed
	State string          `json:"state"`           // the root of the tree
}

func (s *stamp) stamped() *stamp { return s }

// reasoned is the part of a body that says why somebody did what it records: there is no such record without it.
type reasoned struct {
	Reason string `json:"reason"`
}

func (r reasoned) because() string { return strings.TrimSpace(r.Reason) }

var errNoReason = refuse(CodeLimit, "an act on a ledger, or on an account, needs a reason, which is recorded")

// bodies makes an empty body of each kind of record.
var bodies = map[string]func() body{
	"ledger":   func() body { return new(ledgerBody) },
	"account":  func() body { return new(accountBody) },
	"limit":    func() body { return new(limitBody) },
	"debit":    func() body { return new(debitBody) },
	"seal":     func() body { return new(sealBody) },
	"publish":  func() body { return new(publishBody) },
	"abandon":  func() body { return new(abandonBody) },
	"clock":    func() body { return new(clockBody) },
	"propose":  func() body { return new(proposeBody) },
	"approve":  func() body { return new(approveBody) },
	"rule":     func() body { return new(ruleBody) },
	"keeps":    func() body { return new(keepsBody) },
	"close":    func() body { return new(closeBody) },
	"separate": func() body { return new(separateBody) },
	"look":     func() body { return new(lookBody) },
	"charge":   func() body { return new(chargeBody) },
	"refuse":   func() body { return new(refuseBody) },
	"answer":   func() body { return new(answerBody) },
}

// kindOf returns the kind of a body.
func kindOf(b body) string { return kinds[reflect.TypeOf(b)] }

// kinds are the kinds of the types of bodies.
var kinds = func() map[reflect.Type]string {
	out := make(map[reflect.Type]string, len(bodies))
	for kind, empty := range bodies {
		out[reflect.TypeOf(empty())] = kind
	}
	return out
}()

// append carries out a record on the books, stores what it changed, and adds it to the chain.
// The caller has read all that the record is about. The head is locked by this transaction.
func (t *tx) append(b body) (*Record, error) {
	r := &Record{Seq: t.state.seq + 1, Kind: kindOf(b), Prev: t.state.hash}
	s := b.stamped()
	s.At, s.By = t.at.UTC().Format(timeForm), t.l.by
	after, err := t.books.enter(r.Seq, b)
	if err != nil {
		var known *Error
		if errors.As(err, &known) {
			return nil, err
		}
		return nil, t.tampered(fmt.Sprintf("a record %s cannot follow on its chain (%v)", r.Kind, err))
	}
	if err := t.commit(); err != nil {
		return nil, err
	}
	if err := t.save(); err != nil {
		return nil, err
	}
	s.State = t.state.root
	if s.After, err = afterText(after); err != nil {
		return nil, err
	}
	if r.Body, err = encode(b); err != nil {
		return nil, err
	}
	r.Hash = hashRecord(t.state.ledger, r)
	if err := t.exec("INSERT INTO dprelease_records (seq, kind, body, prev, hash) VALUES (?, ?, ?, ?, ?)", r.Seq, r.Kind, r.Body, r.Prev,
		r.Hash); err != nil {
		return nil, err
	}
	t.state.seq, t.state.hash, t.state.at = r.Seq, r.Hash, t.at
	return r, t.exec("UPDATE dprelease_head SET seq = ?, hash = ?, at = ? WHERE one = 1", r.Seq, r.Hash, t.at.UnixMicro())
}

// afterText writes what a record says of the accounts that it changed: nothing where there are none.
func afterText(after []*Account) (json.RawMessage, error) {
	if len(after) == 0 {
		return nil, nil
	}
	text, err := encode(after)
	return json.RawMessage(text), err
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

// Mark is the reference of a published release to its ledger.
type Mark struct {
	Ledger string
	Seq    int64
	Head   string
}

// Witness compares the ledger with releases that were seen. A release that is newer than the
// ledger, or of another line of its history, shows that this is an old or copied ledger, or that
// somebody wrote its report by hand: the caller must not spend. Nothing is written, so that what
// lies in a folder refuses no later run. Releases of other ledgers say nothing.
func (l *Ledger) Witness(ctx context.Context, seen ...Seen) error {
	heads := map[int64]string{}
	var marks []Seen
	for _, m := range seen {
		if m.Ledger == l.id && m.Seq > 0 {
			marks = append(marks, m)
			heads[m.Seq] = ""
		}
	}
	if len(marks) == 0 {
		return nil
	}
	return l.read(ctx, func(t *tx) error {
		if err := t.hashes(heads); err != nil {
			return err
		}
		at := slices.IndexFunc(marks, func(m Seen) bool { return heads[m.Seq] != m.Head })
		if at < 0 {
			return nil
		}
		h, err := t.readHead("")
		if err != nil {
			return err
		}
		if m := marks[at]; m.Seq > h.seq || heads[m.Seq] != "" {
			return refuse(CodeRolledBack, "%s is an old copy, or a report is not genuine: %s says that record %d paid for it, and that is not "+
				"so here; restore the newest copy, or move that report away; dprelease ledger verify shows more", l.address, m.Where, m.Seq)
		}
		return t.tampered(fmt.Sprintf("record %d is missing, and a release that it paid for was seen", marks[at].Seq))
	})
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
