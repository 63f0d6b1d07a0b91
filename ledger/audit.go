package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"

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
	return &Auditor{hash: genesis, accounts: map[int64]*Account{}, bounds: map[int64]privacy.Cost{}, places: map[int64][]int{},
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
	if err := v.replay(&r); err != nil {
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

// replay does to the auditor's state what a record did to the ledger's.
func (v *Auditor) replay(r *Record) error {
	switch r.Kind {
	case kindLedger:
		var b ledgerBody
		if err := v.read(r, &b, &b.stamp); err != nil {
			return err
		}
		if r.Seq != 1 || b.Format != 1 && b.Format != Format || (b.Format == 1) != (b.Secret == "") {
			return fmt.Errorf("a ledger begins in its middle, or in another format")
		}
		if v.stated = b.Format == Format; v.stated {
			v.tree.put(secretKey, b.Secret)
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
	case kindUpgrade:
		return v.upgrade(r)
	case kindPropose, kindRule:
		return v.propose(r)
	case kindApprove:
		return v.approve(r)
	case kindLook:
		return v.look(r)
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
	a := &Account{ID: r.Seq, Key: Key{Dataset: b.Dataset, Unit: b.Unit}, Opening: Opening{Filter: b.Filter, Orders: b.Orders, TwoPersons: b.Two, Keeps: b.Keeps}}
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
	v.changed = append(v.changed, a)
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
	case b.Raised && a.TwoPersons:
		return fmt.Errorf("one person raised a limit that two must raise")
	}
	a.Limit, a.Pending = l, nil
	v.changed = append(v.changed, a)
	return v.bound(a)
}

func (v *Auditor) upgrade(r *Record) error {
	var b upgradeBody
	if err := v.read(r, &b, &b.stamp); err != nil {
		return err
	}
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

// propose replays what asks for a second person, or makes that a rule.
func (v *Auditor) propose(r *Record) error {
	var b proposeBody
	if err := v.read(r, &b, &b.stamp); err != nil {
		return err
	}
	a := v.accounts[b.Account]
	if a == nil || b.Reason == "" || a.TwoPersons != (r.Kind == kindPropose) {
		return fmt.Errorf("it is not about an account that allows it, or has no reason")
	}
	v.changed = append(v.changed, a)
	if r.Kind == kindRule {
		a.TwoPersons = true
		return nil
	}
	if l, err := parseLimit(b.Epsilon, b.Delta); !b.EndRule && (err != nil || !a.Limit.AtMost(l)) {
		return fmt.Errorf("what it asks for is not a larger limit")
	}
	a.Pending = &Proposal{Record: r.Seq, By: b.By, Epsilon: b.Epsilon, Delta: b.Delta, EndRule: b.EndRule}
	return nil
}

func (v *Auditor) approve(r *Record) error {
	var b approveBody
	if err := v.read(r, &b, &b.stamp); err != nil {
		return err
	}
	a := v.accounts[b.Account]
	switch {
	case a == nil || a.Pending == nil || a.Pending.Record != b.Proposal:
		return fmt.Errorf("it approves what nobody asked for")
	case samePerson(a.Pending.By, b.By):
		return fmt.Errorf("one person asked for a change and approved it")
	}
	v.changed = append(v.changed, a)
	if err := a.approved(); err != nil {
		return err
	}
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
	v.changed = append(v.changed, a)
	if v.stated && a.Keeps == nil && a.Debits == 1 {
		a.Keeps = columnSet(b.Keeps) // the first debit decides it
	}
	if v.stated && a.Keeps == nil || !KeepsAll(a.Keeps, b.Keeps) {
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
	if !v.stated {
		v.former[b.Digest] = append(v.former[b.Digest], r.Seq)
	}
	v.releases[r.Seq] = &Release{ID: r.Seq, Account: a.ID, Plan: b.Plan, State: Debited, token: 1}
	v.plans[b.Plan] = append(v.plans[b.Plan], v.releases[r.Seq])
	v.putPlan(b.Plan)
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
	rel.State, rel.Content, rel.archive = Sealed, b.Content, b.Archive
	v.files[rel.ID] = b.Files
	v.putPlan(rel.Plan)
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
		rel.token++
	}
	rel.State = to
	v.putPlan(rel.Plan)
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

// auditSlack allows that another version of the program, or another machine,
// rounded a sample's charge in another way. It is far above any rounding and far
// below any amount that matters.
var auditSlack = big.NewRat(1, 1e9)

// draws replays what a debit did to kept samples, and computes their charges again.
func (v *Auditor) draws(seq int64, a *Account, draws []Draw, cost privacy.Cost) error {
	sum := make(privacy.Cost, len(cost))
	for i := range sum {
		sum[i] = new(big.Rat)
	}
	for _, d := range draws {
		s, err := v.drawnBy(seq, a, d)
		if err != nil {
			return err
		}
		step, err1 := parseLimit(d.Epsilon, d.Delta)
		charged, err2 := parseLimit(d.ChargedEpsilon, d.ChargedDelta)
		paid, err3 := parseRats(d.Cost)
		if errors.Join(err1, err2, err3) != nil || len(paid) != len(cost) || step.Epsilon.Sign() < 0 || step.Delta.Sign() < 0 {
			return fmt.Errorf("a debit for sample %s without an amount", d.Sample)
		}
		eps, _ := step.Epsilon.Float64()
		delta, _ := step.Delta.Float64()
		u, err := a.Use(s, Step{Sample: d.Sample, Epsilon: eps, Delta: delta})
		if err != nil {
			return fmt.Errorf("a debit for sample %s that its account cannot charge", d.Sample)
		}
		short := below(charged.Epsilon, u.ChargedAfter.Epsilon) || below(charged.Delta, u.ChargedAfter.Delta)
		for i := range paid {
			short = short || paid[i].Sign() < 0 || below(paid[i], u.Cost[i])
			sum[i].Add(sum[i], paid[i])
		}
		if short || !s.Charged.AtMost(charged) {
			v.find(FoundOverspent, fmt.Sprintf("record %d", seq), "is charged less for sample %s than all its releases cost together", d.Sample)
		}
		s.Spent = Limit{Epsilon: new(big.Rat).Add(s.Spent.Epsilon, step.Epsilon), Delta: new(big.Rat).Add(s.Spent.Delta, step.Delta)}
		s.Charged = charged
		s.Uses++
		v.put(sampleKey(s.ID), s.row())
	}
	for i := range sum {
		if sum[i].Cmp(cost[i]) > 0 {
			return fmt.Errorf("a debit below what its samples cost")
		}
	}
	return nil
}

func below(got, want *big.Rat) bool {
	least := new(big.Rat).Mul(want, new(big.Rat).Sub(big.NewRat(1, 1), auditSlack))
	return got.Cmp(least) < 0
}

// drawnBy finds the sample of a debit, or begins it.
func (v *Auditor) drawnBy(seq int64, a *Account, d Draw) (*Sample, error) {
	s := v.samples[d.Sample]
	switch {
	case d.Event != "" && s != nil:
		return nil, fmt.Errorf("sample %s is drawn twice", d.Sample)
	case d.Event != "":
		s = &Sample{ID: d.Sample, Account: a.ID, Debit: seq, Name: d.Name, Event: d.Event, Design: d.Design, Spent: zero(), Charged: zero()}
		s.Ready = d.Collected
		v.samples[d.Sample] = s
		return s, nil
	case s == nil:
		return nil, fmt.Errorf("a debit for a sample %s that was never drawn", d.Sample)
	}
	if err := s.usable(a.ID); err != nil {
		return nil, fmt.Errorf("a debit for a sample %s that was not stored, or belongs to another account", d.Sample)
	}
	return s, nil
}

// keeps replays that a seal stored the rows of samples.
func (v *Auditor) keeps(debit int64, rows []sealedRows) error {
	missing := 0
	for _, s := range v.samples {
		if s.Debit == debit && !s.Ready {
			missing++
		}
	}
	for _, r := range rows {
		s := v.samples[r.Sample]
		if s == nil || s.Debit != debit || s.Ready || r.Content == "" || r.SHA256 == "" {
			return fmt.Errorf("the rows of a sample that its release did not draw")
		}
		s.Ready, s.Content, s.digest = true, r.Content, r.SHA256
		v.put(sampleKey(s.ID), s.row())
		missing--
	}
	if missing != 0 {
		return fmt.Errorf("a seal without the rows of a sample that is kept")
	}
	return nil
}

// matchSamples holds the table of samples to the chain.
func (v *Auditor) matchSamples(t *tx) error {
	rows, err := t.rows("SELECT " + sampleColumns + ", sealed FROM dprelease_samples ORDER BY id")
	if err != nil {
		return err
	}
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		var sealed []byte
		s, err := scanSample(also{rows, []any{&sealed}})
		if err != nil {
			return err
		}
		where := s.String()
		w := v.samples[s.ID]
		switch {
		case w == nil:
			v.find(FoundTables, where, "is not in the chain")
		case w.Account != s.Account || w.Debit != s.Debit || w.Name != s.Name || w.Event != s.Event || w.Design != s.Design ||
			w.Ready != s.Ready || w.Uses != s.Uses || w.Content != s.Content || w.digest != s.digest ||
			!s.same(w.Spent) || !w.Charged.AtMost(s.Charged) || !s.Charged.AtMost(w.Charged):
			v.find(FoundTables, where, "its state does not follow from the chain")
		case s.Collected() && (sealed != nil || s.digest != ""):
			v.find(FoundTables, where, "has rows, which nobody stored")
		case s.Ready && !s.Collected() && digestOf(sealed) != w.digest:
			v.find(FoundStored, where, "its stored rows are not those that were sealed")
		}
	}
	if n != len(v.samples) {
		v.find(FoundTables, "samples", "%d kept samples stand in the table, %d in the chain", n, len(v.samples))
	}
	return errors.Join(rows.Err(), rows.Close())
}

// tables holds the tables to the chain.
func (v *Auditor) tables(t *tx) error {
	h, err := t.readHead("")
	if err != nil {
		return err
	}
	if h.seq != v.seq || h.hash != v.hash {
		v.find(FoundTables, "head", "the ledger ends at record %d, its chain at record %d: records were cut off or put in", h.seq, v.seq)
	}
	if h.ledger != v.ledger {
		v.find(FoundTables, "head", "the ledger has another name than its first record")
	}
	if h.seq == v.seq && h.at.Format(timeForm) != v.at {
		v.find(FoundTables, "head", "its time is not that of the newest record")
	}
	if err := v.matchAccounts(t); err != nil {
		return err
	}
	if err := v.matchTree(t, h); err != nil {
		return err
	}
	if err := errors.Join(v.matchSamples(t), v.matchPairs(t), v.matchFormer(t)); err != nil {
		return err
	}
	return v.matchReleases(t)
}

func (v *Auditor) matchAccounts(t *tx) error {
	rows, err := t.rows("SELECT " + accountColumns + " FROM dprelease_accounts a ORDER BY a.id")
	if err != nil {
		return err
	}
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		a, err := scanAccount(rows)
		if err != nil {
			return err
		}
		where := "account of " + a.Key.String()
		w := v.accounts[a.ID]
		if w == nil {
			v.find(FoundTables, where, "is not in the chain")
			continue
		}
		if !v.stated { // the upgrade will say
			a.last, a.Acts = w.last, w.Acts
		}
		mine, err := encode(w.row())
		theirs, err2 := encode(a.row())
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		if mine != theirs {
			v.find(FoundTables, where, "its filter, limit, spend, number of debits or the columns that it keeps do not follow from the chain")
		}
	}
	if n != len(v.accounts) {
		v.find(FoundTables, "accounts", "%d accounts stand in the table, %d in the chain", n, len(v.accounts))
	}
	return errors.Join(rows.Err(), rows.Close())
}

// matchTree holds the tree of digests, and the secret, to the chain.
func (v *Auditor) matchTree(t *tx, h *head) error {
	if !v.stated {
		return nil
	}
	if d, ok := v.tree.get(v.tree.root(), secretKey); !ok || d != secretDigest(h.key) {
		v.find(FoundTables, "head", "its secret is not that of the first record")
	}
	rows, err := t.rows("SELECT path, node FROM dprelease_tree")
	if err != nil {
		return err
	}
	defer rows.Close()
	same, n := true, 0
	for ; rows.Next(); n++ {
		var path, node string
		if err := rows.Scan(&path, &node); err != nil {
			return err
		}
		same = same && v.tree.nodes[path] == node
	}
	if !same || n != len(v.tree.nodes) {
		v.find(FoundTables, "tree", "the tree of digests does not follow from the chain")
	}
	return errors.Join(rows.Err(), rows.Close())
}

func (v *Auditor) matchReleases(t *tx) error {
	rows, err := t.rows("SELECT " + releaseColumns + ", archive FROM dprelease_releases ORDER BY id")
	if err != nil {
		return err
	}
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		var archive []byte
		r, err := scanRelease(also{rows, []any{&archive}})
		if err != nil {
			return err
		}
		where := fmt.Sprintf("release %d", r.ID)
		w := v.releases[r.ID]
		switch {
		case w == nil:
			v.find(FoundTables, where, "is not in the chain")
		case w.Plan != r.Plan || w.Content != r.Content || w.State != r.State || w.Account != r.Account || w.archive != r.archive || w.token != r.token:
			v.find(FoundTables, where, "its state does not follow from the chain")
		case r.released() && digestOf(archive) != w.archive:
			v.find(FoundStored, where, "its stored bytes are not those that were sealed")
		}
	}
	if n != len(v.releases) {
		v.find(FoundTables, "releases", "%d releases stand in the table, %d in the chain", n, len(v.releases))
	}
	return errors.Join(rows.Err(), rows.Close())
}

// Compare holds releases that were seen to the chain.
func (v *Auditor) Compare(seen []Seen) {
	for _, s := range seen {
		switch {
		case s.Ledger == "" || s.Seq <= 0:
			v.find(FoundUndebited, s.Where, "carries no debit of any ledger")
		case s.Ledger != v.ledger:
			v.find(FoundUndebited, s.Where, "was debited by another ledger (%s), not by this one", s.Ledger)
		case s.Seq > int64(len(v.hashes)):
			v.find(FoundRolledBack, s.Where, "was debited by record %d, and this ledger ends at record %d: it was rolled back or cut off", s.Seq, v.seq)
		case v.hashes[s.Seq-1] != s.Head:
			v.find(FoundForked, s.Where, "was debited by another record %d than this ledger's: a copy of it, or an old one, was written to", s.Seq)
		default:
			v.compareFiles(s)
		}
	}
}

func (v *Auditor) compareFiles(s Seen) {
	r := v.releases[s.Seq]
	if r == nil || !r.released() {
		v.find(FoundUndebited, s.Where, "stands for record %d, which is no release that was sealed", s.Seq)
		return
	}
	now := map[string]string{}
	for _, f := range s.Files {
		now[f.Path] = f.SHA256
	}
	for _, f := range v.files[r.ID] {
		if got, ok := now[f.Path]; !ok {
			v.find(FoundAltered, s.Where, "%s is missing", f.Path)
		} else if got != f.SHA256 {
			v.find(FoundAltered, s.Where, "%s is not what was sealed", f.Path)
		}
	}
}
