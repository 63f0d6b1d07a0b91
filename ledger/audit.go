package ledger

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Auditor replays a chain, record by record, from nothing.
type Auditor struct {
	ledger   string
	seq      int64
	hash     string
	at       string
	hashes   []string
	accounts map[int64]*Account
	bounds   map[int64]bounds
	slices   map[int64]map[string]bucket // what slices have spent, by account and bucket
	keys     map[Key]bool
	releases map[int64]*Release
	sealed   map[[2]string]int64
	samples  map[string]*Sample
	open     map[string]int64      // the debit of a plan that is neither sealed nor given up
	former   map[string][]int64    // debits of earlier versions, by the digest of the job
	pairs    map[[2]string]bool    // accounts that are separate
	plans    map[string][]*Release // in the order of their debits
	files    map[int64][]Sum       // of a sealed release
	turns    []Turn
	found    []Finding

	tree    *tree
	stated  bool       // records say the state after them
	changed []*Account // by the record that is replayed
}

// maxFindings keeps a report of a wholly damaged ledger short.
const maxFindings = 1000

// NewAuditor starts a replay.
func NewAuditor() *Auditor {
	return &Auditor{hash: genesis, accounts: map[int64]*Account{}, bounds: map[int64]bounds{}, slices: map[int64]map[string]bucket{},
		keys: map[Key]bool{}, releases: map[int64]*Release{}, sealed: map[[2]string]int64{}, samples: map[string]*Sample{}, open: map[string]int64{},
		plans: map[string][]*Release{}, former: map[string][]int64{}, pairs: map[[2]string]bool{},
		files: map[int64][]Sum{}, tree: newTree()}
}

// Findings are what was wrong so far.
func (v *Auditor) Findings() []Finding { return v.found }

// Head is the end of the chain so far.
func (v *Auditor) Head() Mark { return Mark{Ledger: v.ledger, Seq: v.seq, Head: v.hash} }

func (v *Auditor) find(code, where, format string, args ...any) {
	if len(v.found) < maxFindings {
		v.found = append(v.found, Finding{code, where, fmt.Sprintf(format, args...)})
	}
}

// Add checks the next record against all before it.
func (v *Auditor) Add(r Record) {
	where := fmt.Sprintf("record %d", r.Seq)
	if r.Kind == kindLedger && v.seq == 0 {
		var b ledgerBody
		if decode(r.Body, &b) == nil {
			v.ledger = b.Ledger
		}
	}
	switch {
	case r.Seq != v.seq+1:
		v.find(FoundChain, where, "follows record %d: records are missing", v.seq)
	case r.Prev != v.hash:
		v.find(FoundChain, where, "does not follow the record before it")
	}
	if hashRecord(v.ledger, &r) != r.Hash {
		v.find(FoundChain, where, "was changed: its hash is not that of its text")
	}
	v.seq, v.hash = r.Seq, r.Hash
	v.hashes = append(v.hashes, r.Hash)
	v.changed = nil
	do := replays[r.Kind]
	if do == nil {
		do = func(*Auditor, *Record) error { return fmt.Errorf("a record of an unknown kind") }
	}
	if err := do(v, &r); err != nil {
		v.find(FoundBody, where, "%v", err)
	}
	if err := v.state(&r); err != nil {
		v.find(FoundBody, where, "%v", err)
	}
}

// state holds what a record says of the state after it to the replay.
func (v *Auditor) state(r *Record) error {
	var s stamp
	if err := decodeSome(r.Body, &s); err != nil {
		return nil // replay says so
	}
	if !v.stated {
		for _, a := range v.changed {
			a.Acts++
		}
		if s.State != "" || len(s.After) > 0 {
			return fmt.Errorf("a state in a ledger that has none yet")
		}
		return nil
	}
	var after []Balance
	for _, a := range v.changed {
		a.Acts++
		a.last = r.Seq
		after = append(after, a.balance())
		v.put(a.key(), a.row())
	}
	mine, err := encode(after)
	theirs, err2 := encode(s.After)
	switch {
	case err != nil || err2 != nil || mine != theirs:
		return fmt.Errorf("the state of its account after it does not follow from the chain")
	case s.State != v.tree.root():
		return fmt.Errorf("the state of the ledger after it does not follow from the chain")
	}
	return nil
}

// put makes a key stand for what the chain says is stored under it.
func (v *Auditor) put(key string, stored any) {
	if text, err := encode(stored); err == nil {
		v.tree.put(key, digestOf([]byte(text)))
	}
}

// putPlan is put for the releases of a plan.
func (v *Auditor) putPlan(plan string) { v.put(planKey(plan), planRow(v.plans[plan])) }

// replays do to the auditor's state what each kind of record did to the ledger's.
var replays = map[string]func(*Auditor, *Record) error{
	kindLedger:   replay((*Auditor).begin),
	kindAccount:  replay((*Auditor).account),
	kindLimit:    replay((*Auditor).limit),
	kindDebit:    replay((*Auditor).debit),
	kindSeal:     replay((*Auditor).seal),
	kindPublish:  replay((*Auditor).end),
	kindAbandon:  replay((*Auditor).end),
	kindClock:    (*Auditor).clock,
	kindKeeps:    replay((*Auditor).setKeeps),
	kindSeparate: replay((*Auditor).separate),
	kindUpgrade:  replay((*Auditor).upgrade),
	kindPropose:  replay((*Auditor).propose),
	kindRule:     replay((*Auditor).propose),
	kindApprove:  replay((*Auditor).approve),
	kindLook:     replay((*Auditor).look),
	kindCharge:   replay((*Auditor).charge),
}

// replay reads the body of a record, and holds its time to that of the record before it.
func replay[B any, P interface {
	*B
	body
}](do func(*Auditor, *Record, P) error) func(*Auditor, *Record) error {
	return func(v *Auditor, r *Record) error {
		b := P(new(B))
		if decode(r.Body, b) != nil {
			return fmt.Errorf("its text cannot be read as a %s", r.Kind)
		}
		at, err := parseTime(b.stamped().At)
		switch {
		case err != nil:
			return fmt.Errorf("it has no time")
		case at < v.at:
			return fmt.Errorf("its time is before that of the record before it")
		}
		v.at = at
		return do(v, r, b)
	}
}

func (v *Auditor) begin(r *Record, b *ledgerBody) error {
	if r.Seq != 1 || b.Format != 1 && b.Format != Format || (b.Format == 1) != (b.Secret == "") {
		return fmt.Errorf("a ledger begins in its middle, or in another format")
	}
	if v.stated = b.Format == Format; v.stated {
		v.tree.put(secretKey, b.Secret)
	}
	return nil
}

func (v *Auditor) upgrade(r *Record, b *upgradeBody) error {
	if b.From >= b.To || b.Secret == "" {
		return fmt.Errorf("an upgrade that goes back")
	}
	v.tree.put(secretKey, b.Secret)
	if !v.stated {
		v.putFormer()
		for _, after := range b.After {
			// The stored reports say it, and the chain has only their digests.
			if a := v.accounts[after.Account]; a != nil && a.Debits > 0 {
				a.Keeps = after.Keeps
			}
		}
	}
	v.stated = true
	v.changed = slices.SortedFunc(maps.Values(v.accounts), func(a, b *Account) int { return cmp.Compare(a.ID, b.ID) })
	return nil
}

// Turns are the acts by which clocks were accepted, as far as the chain was replayed.
func (v *Auditor) Turns() []Turn { return v.turns }

// clock is the one record whose time may be before that of the record before it.
func (v *Auditor) clock(r *Record) error {
	var b clockBody
	if decode(r.Body, &b) != nil {
		return fmt.Errorf("its text cannot be read as a clock")
	}
	at, err := parseTime(b.At)
	was, err2 := parseTime(b.Was)
	switch {
	case err != nil || err2 != nil:
		return fmt.Errorf("it has no time")
	case was != v.at:
		return fmt.Errorf("it passes over another time than that of the record before it")
	case at >= was:
		return fmt.Errorf("a clock is accepted that was not behind")
	case b.By == "" || b.Reason == "":
		return fmt.Errorf("a clock is accepted without a name and a reason")
	}
	v.at = at
	v.turns = append(v.turns, b.turn(r.Seq))
	return nil
}

// Finding is one thing that is wrong with a ledger or with what it released.
type Finding struct {
	Code  string `json:"code"`
	Where string `json:"where"`
	What  string `json:"what"`
}

// The codes of findings.
const (
	FoundChain      = "chain"       // a record was changed, left out or put in
	FoundBody       = "record"      // a record says what cannot have happened
	FoundTables     = "tables"      // the tables do not follow from the chain
	FoundOverspent  = "overspent"   // a debit that the limit did not allow
	FoundRolledBack = "rolled-back" // a release is newer than the ledger
	FoundForked     = "forked"      // a release belongs to another line of history: a copy was used
	FoundAltered    = "altered"     // files differ from those that were sealed
	FoundUndebited  = "undebited"   // a release without a debit
	FoundStored     = "stored"      // stored bytes differ from those that were sealed
)
