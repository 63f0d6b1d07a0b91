package ledger

import (
	"fmt"
	"math/big"

	"github.com/dprelease/dprelease/privacy"
)

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

// Auditor replays a chain, record by record, from nothing.
type Auditor struct {
	ledger   string
	seq      int64
	hash     string
	at       string
	hashes   []string
	accounts map[int64]*Account
	bounds   map[int64]privacy.Cost // what the filter of an account allows
	places   map[int64][]int
	keys     map[Key]bool
	releases map[int64]*audited
	sealed   map[[2]string]int64
	samples  map[string]*heldSample
	open     map[string]int64   // the debit of a plan that is neither sealed nor given up
	kept     map[int64][]string // what accounts keep
	pairs    map[[2]string]bool // accounts that are separate
	turns    []Turn
	found    []Finding
}

// audited is a release as the chain tells it.
type audited struct {
	Release
	archive string
	files   []Sum
}

// maxFindings keeps a report of a wholly damaged ledger short.
const maxFindings = 1000

// NewAuditor starts a replay.
func NewAuditor() *Auditor {
	return &Auditor{hash: genesis, accounts: map[int64]*Account{}, bounds: map[int64]privacy.Cost{}, places: map[int64][]int{},
		keys: map[Key]bool{}, releases: map[int64]*audited{}, sealed: map[[2]string]int64{}, samples: map[string]*heldSample{}, open: map[string]int64{},
		kept: map[int64][]string{}, pairs: map[[2]string]bool{}}
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
	if err := v.replay(&r); err != nil {
		v.find(FoundBody, where, "%v", err)
	}
}

// replay does to the auditor's state what a record did to the ledger's.
func (v *Auditor) replay(r *Record) error {
	switch r.Kind {
	case kindLedger:
		var b ledgerBody
		if err := v.read(r, &b, &b.stamp); err != nil {
			return err
		}
		if r.Seq != 1 || b.Format != Format {
			return fmt.Errorf("a ledger begins in its middle, or in another format")
		}
	case kindAccount:
		return v.account(r)
	case kindLimit:
		return v.limit(r)
	case kindDebit:
		return v.debit(r)
	case kindSeal:
		return v.seal(r)
	case kindPublish, kindAbandon:
		return v.end(r)
	case kindClock:
		return v.clock(r)
	case kindKeeps:
		return v.setKeeps(r)
	case kindSeparate:
		return v.separate(r)
	default:
		return fmt.Errorf("a record of an unknown kind")
	}
	return nil
}

func (v *Auditor) read(r *Record, into any, s *stamp) error {
	if err := decode(r.Body, into); err != nil {
		return fmt.Errorf("its text cannot be read as a %s", r.Kind)
	}
	t, err := parseTime(s.At)
	if err != nil {
		return fmt.Errorf("it has no time")
	}
	if s.At = t; s.At < v.at {
		return fmt.Errorf("its time is before that of the record before it")
	}
	v.at = s.At
	return nil
}

func (v *Auditor) account(r *Record) error {
	var b accountBody
	if err := v.read(r, &b, &b.stamp); err != nil {
		return err
	}
	a := &Account{ID: r.Seq, Key: Key{Dataset: b.Dataset, Unit: b.Unit}, Opening: Opening{Filter: b.Filter, Orders: b.Orders}}
	var err error
	if a.Relation, err = privacy.ParseRelation(b.Relation); err != nil {
		return err
	}
	if a.Limit, err = parseLimit(b.Epsilon, b.Delta); err != nil {
		return err
	}
	for range a.Units() {
		a.Spent = append(a.Spent, new(big.Rat))
	}
	if v.keys[a.Key] {
		return fmt.Errorf("an account is opened twice")
	}
	v.keys[a.Key], v.accounts[a.ID] = true, a
	if b.Keeps != nil {
		v.kept[a.ID] = *b.Keeps
	}
	return v.bound(a)
}

// bound finds out once what an account's limit means in its units.
func (v *Auditor) bound(a *Account) error {
	f, places, err := a.filter(a.Relation, a.Limit)
	if err != nil {
		return err
	}
	v.bounds[a.ID], v.places[a.ID] = f.Remaining(), places
	return nil
}

func (v *Auditor) limit(r *Record) error {
	var b limitBody
	if err := v.read(r, &b, &b.stamp); err != nil {
		return err
	}
	a := v.accounts[b.Account]
	l, err := parseLimit(b.Epsilon, b.Delta)
	switch {
	case a == nil:
		return fmt.Errorf("the limit of an account that is not there")
	case err != nil:
		return err
	case b.Reason == "":
		return fmt.Errorf("a limit is changed without a reason")
	case b.Raised != a.Limit.AtMost(l) || !b.Raised && !l.AtMost(a.Limit):
		return fmt.Errorf("a limit is not changed as the record says")
	}
	a.Limit = l
	return v.bound(a)
}

func (v *Auditor) debit(r *Record) error {
	var b debitBody
	if err := v.read(r, &b, &b.stamp); err != nil {
		return err
	}
	a := v.accounts[b.Account]
	if a == nil {
		return fmt.Errorf("a debit of an account that is not there")
	}
	cost, err := parseRats(b.Cost)
	if err != nil || len(cost) != len(a.Spent) {
		return fmt.Errorf("a debit without a cost")
	}
	for i := range cost {
		if cost[i].Sign() < 0 {
			return fmt.Errorf("a debit that gives something back")
		}
		a.Spent[i] = new(big.Rat).Add(a.Spent[i], cost[i])
	}
	if err := v.draws(r.Seq, a, b.Draws, cost); err != nil {
		return err
	}
	a.Debits++
	if keeps := v.kept[a.ID]; !KeepsAll(keeps, b.Keeps) {
		return fmt.Errorf("a debit of a job that keeps a column that its account does not")
	}
	if v.open[b.Plan] != 0 {
		return fmt.Errorf("a debit beside one of the same plan that was not given up")
	}
	v.open[b.Plan] = r.Seq
	within := 0
	spent := pick(a.Spent, v.places[a.ID])
	for i, limit := range v.bounds[a.ID] {
		if spent[i].Cmp(limit) <= 0 {
			within++
		}
	}
	if within < len(spent) && (a.Filter != RDP || within == 0) {
		v.find(FoundOverspent, fmt.Sprintf("record %d", r.Seq), "its debit is above the limit of the account of %s", a.Key)
	}
	v.releases[r.Seq] = &audited{Release: Release{ID: r.Seq, Account: a.ID, Plan: b.Plan, State: Debited}}
	return nil
}

func (v *Auditor) seal(r *Record) error {
	var b sealBody
	if err := v.read(r, &b, &b.stamp); err != nil {
		return err
	}
	rel := v.releases[b.Release]
	switch {
	case rel == nil || rel.State != Debited:
		return fmt.Errorf("bytes of a release that was not debited, or was sealed or given up before")
	case b.Content == "" || b.Archive == "":
		return fmt.Errorf("a seal without content or bytes")
	case v.sealed[[2]string{rel.Plan, b.Content}] != 0:
		return fmt.Errorf("a second release of the same plan from the same content")
	}
	if err := v.keeps(rel.ID, b.Samples); err != nil {
		return err
	}
	v.sealed[[2]string{rel.Plan, b.Content}] = rel.ID
	delete(v.open, rel.Plan)
	rel.State, rel.Content, rel.archive, rel.files = Sealed, b.Content, b.Archive, b.Files
	return nil
}

func (v *Auditor) end(r *Record) error {
	var b publishBody
	if err := v.read(r, &b, &b.stamp); err != nil {
		return err
	}
	from, to := Sealed, Published
	if r.Kind == kindAbandon {
		from, to = Debited, Abandoned
	}
	rel := v.releases[b.Release]
	if rel == nil || rel.State != from {
		return fmt.Errorf("a release that was not %s is %s", from, to)
	}
	if to == Abandoned {
		delete(v.open, rel.Plan)
	}
	rel.State = to
	return nil
}
