package ledger

import (
	"fmt"
	"maps"
	"slices"

	"github.com/dprelease/dprelease/privacy"
)

// books are the accounts of a ledger and all that belongs to them, as far as they were read.
// A transaction reads what it needs. An [Auditor] makes all of it, from the first record on.
//
// Only records change books, each by its method enter. So a record means the same to whoever
// writes it and to whoever audits it.
type books struct {
	accounts map[int64]*Account
	slices   map[int64]map[string]bucket // what slices have spent, by account and bucket
	releases map[int64]*Release
	plans    map[string][]*Release // in the order of their debits
	nodes    map[string]*Node
	pairs    map[[2]string]bool // accounts that are separate
	columns  map[string]columnMark
	refused  string  // the release that shows that this is an old copy, "" for none
	changed  changes // by the newest record

	// charged is asked after each slice that a record charges elsewhere's cost; nil for nobody.
	charged func(*Account, privacy.Cost) error
}

// changes are the rows that a record changed.
type changes struct {
	secret   string // its digest
	accounts []*Account
	slices   map[int64][]string // names of buckets, by account
	releases []*Release
	nodes    []*Node
	pairs    [][2]string
	columns  []string // their names
	refused  bool
}

func newBooks() books {
	return books{accounts: map[int64]*Account{}, slices: map[int64]map[string]bucket{}, releases: map[int64]*Release{},
		plans: map[string][]*Release{}, nodes: map[string]*Node{}, pairs: map[[2]string]bool{}, columns: map[string]columnMark{}}
}

// enter carries out a record, and returns the state after it of the accounts that it changed.
//
// # Contract
//
// Where it returns no error the record may stand after those that were entered before: it
// says who wrote it, and why where its kind needs a reason, refers to what is there, gives nothing back, and moves each
// release, node and proposal one step on. It asks neither the chain nor a limit. Proof: ledger.proof.md.
func (b *books) enter(seq int64, r body) (after []*Account, err error) {
	b.changed = changes{slices: map[int64][]string{}}
	if r.stamped().By == "" {
		return nil, fmt.Errorf("nobody wrote it")
	}
	if why, ok := r.(interface{ because() string }); ok && why.because() == "" {
		return nil, errNoReason
	}
	if err := r.enter(b, seq); err != nil {
		return nil, err
	}
	for _, a := range b.changed.accounts {
		a.Acts++
		a.last = seq
		after = append(after, a)
	}
	return after, nil
}

// change notes that a record changes an account.
func (b *books) change(a *Account) { b.changed.accounts = append(b.changed.accounts, a) }

// of finds the account that a record is about.
func (b *books) of(account int64) (*Account, error) {
	a := b.accounts[account]
	if a == nil {
		return nil, fmt.Errorf("it is about an account that is not there")
	}
	b.change(a)
	return a, nil
}

// inSlice lets an account stand for one of its slices.
func (b *books) inSlice(a *Account, is string) (err error) {
	a.Slice.Is, a.InSlice = is, Tally{}
	if is != "" {
		a.InSlice, err = b.slices[a.ID][bucketOf(is)].get(is, a)
		a.Slice.Is = a.InSlice.Is // as it was written first
	}
	return err
}

// keepSlice takes note of what the slice that the account stands for has spent.
func (b *books) keepSlice(a *Account) {
	if is := a.Slice.Is; is != "" {
		name := bucketOf(is)
		b.setBucket(a.ID, name, b.slices[a.ID][name].with(a.InSlice))
	}
}

// readBucket takes a bucket that was read into the books.
func (b *books) readBucket(account int64, name string, to bucket) {
	if b.slices[account] == nil {
		b.slices[account] = map[string]bucket{}
	}
	b.slices[account][name] = to
}

func (b *books) setBucket(account int64, name string, to bucket) {
	b.readBucket(account, name, to)
	b.changed.slices[account] = append(b.changed.slices[account], name)
}

// release finds a release in the state in which a record must find it.
func (b *books) release(id int64, state string) (*Release, error) {
	r := b.releases[id]
	if r == nil || r.State != state {
		return nil, fmt.Errorf("it is about a release that is not %s", state)
	}
	b.changed.releases = append(b.changed.releases, r)
	return r, nil
}

// leaf is a key in the tree of digests.
type leaf struct{ key, digest string }

// leaves are the keys of all that the newest record changed.
func (b *books) leaves() (out []leaf, err error) {
	add := func(key string, row any) {
		text, failed := encode(row)
		if failed != nil {
			err = failed
		}
		out = append(out, leaf{key, digestOf([]byte(text))})
	}
	c := b.changed
	if c.secret != "" {
		out = append(out, leaf{secretKey, c.secret})
	}
	for _, a := range c.accounts {
		add(a.key(), a.row())
	}
	for _, account := range slices.Sorted(maps.Keys(c.slices)) {
		for _, name := range c.slices[account] {
			add(bucketKey(account, name), b.slices[account][name])
		}
	}
	for _, r := range c.releases {
		add(planKey(r.Plan), planRow(b.plans[r.Plan]))
	}
	for _, n := range c.nodes {
		add(nodeKey(n.ID), n)
	}
	for _, p := range c.pairs {
		add(pairKey(p), p)
	}
	for _, name := range c.columns {
		add(columnKey(name), b.columns[name])
	}
	if c.refused {
		add(refusedKey, b.refused)
	}
	return out, err
}

// save stores what the newest record changed.
func (t *tx) save() error {
	c := t.books.changed
	for _, a := range c.accounts {
		if err := t.saveAccount(a); err != nil {
			return err
		}
	}
	for account, names := range c.slices {
		if err := t.saveBuckets(account, names); err != nil {
			return err
		}
	}
	for _, r := range c.releases {
		if err := t.saveRelease(r); err != nil {
			return err
		}
	}
	for _, n := range c.nodes {
		if err := t.saveNode(n); err != nil {
			return err
		}
	}
	for _, p := range c.pairs {
		if err := t.exec("INSERT INTO dprelease_separate (one, other) VALUES (?, ?)", p[0], p[1]); err != nil {
			return err
		}
	}
	if c.refused {
		t.state.refused = t.books.refused
		return t.exec("UPDATE dprelease_head SET refused = ? WHERE one = 1", t.state.refused)
	}
	return nil
}
