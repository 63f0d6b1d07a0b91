package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
)

// Format is the version of the records of the chain.
const Format = 1

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

// body is what a record says. Every body has the time at which it was written.
type body interface{ setTime(at string) }

type stamp struct {
	At string `json:"at"`
}

func (s *stamp) setTime(at string) { s.At = at }

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
)

type ledgerBody struct {
	stamp
	Format int    `json:"format"`
	Ledger string `json:"ledger"`
}

type accountBody struct {
	stamp
	Dataset  string    `json:"dataset"`
	Unit     string    `json:"unit"`
	Relation string    `json:"relation"`
	Filter   string    `json:"filter"`
	Orders   []float64 `json:"orders,omitempty"`
	Epsilon  string    `json:"limit_epsilon"`
	Delta    string    `json:"limit_delta"`
	Keeps    *[]string `json:"keeps,omitempty"`
}

type limitBody struct {
	stamp
	Account int64  `json:"account"`
	Epsilon string `json:"limit_epsilon"`
	Delta   string `json:"limit_delta"`
	Raised  bool   `json:"raised"`
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
	By     string `json:"by"`
	Reason string `json:"reason"`
}

// append adds a record to the chain. The head is locked by this transaction.
func (t *tx) append(kind string, b body) (*Record, error) {
	b.setTime(t.at.UTC().Format(timeForm))
	text, err := encode(b)
	if err != nil {
		return nil, err
	}
	r := &Record{Seq: t.state.seq + 1, Kind: kind, Body: text, Prev: t.state.hash}
	r.Hash = hashRecord(t.state.ledger, r)
	if err := t.exec("INSERT INTO dprelease_records (seq, kind, body, prev, hash) VALUES (?, ?, ?, ?, ?)", r.Seq, r.Kind, r.Body, r.Prev, r.Hash); err != nil {
		return nil, err
	}
	t.state.seq, t.state.hash, t.state.at = r.Seq, r.Hash, t.at
	return r, t.exec("UPDATE dprelease_head SET seq = ?, hash = ?, at = ? WHERE one = 1", r.Seq, r.Hash, t.at.UnixMicro())
}

// untimed gives what is appended next the time of the record before it. An export is for
// others, and the time from a debit to its seal is how long the run read the table (P19).
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

// decode reads a body strictly: a key that this program does not know would be
// something that it does not check.
func decode(text string, into any) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(into)
}
