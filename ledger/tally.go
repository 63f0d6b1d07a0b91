package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/rational"
)

// Tally is the spend of one slice of an account.
type Tally struct {
	Is        string       // the slice's value
	Spent     privacy.Cost // in the account's units
	Debits    int64
	Collected bool // its table is itself a sample, and all its jobs say so
}

// storedTally is a Tally as it is stored. Amounts are exact.
type storedTally struct {
	Is        string   `json:"is"`
	Spent     []string `json:"spent"`
	Debits    int64    `json:"debits"`
	Collected bool     `json:"collected,omitempty"`
}

func ratTexts(c privacy.Cost) []string {
	out := make([]string, len(c))
	for i, x := range c {
		out[i] = x.RatString()
	}
	return out
}

// bucket holds the tallies of those slices of an account whose spellings (see spelled) share
// the first hex digits of their SHA-256, in the order of the spellings. It is stored as one row, and the tree
// of digests has one key for it: a debit reads and writes one bucket, however many slices
// there are, and a million slices are a few thousand rows.
type bucket []storedTally

// bucketDigits is the number of digits that name a bucket: there are at most 16³ of them.
const bucketDigits = 3

// bucketOf is the bucket of a slice.
func bucketOf(is string) string {
	sum := sha256.Sum256([]byte(spelled(is)))
	return hex.EncodeToString(sum[:(bucketDigits+1)/2])[:bucketDigits]
}

// bucketKey is the key of a bucket in the tree of digests.
func bucketKey(account int64, name string) string {
	return "slices\n" + strconv.FormatInt(account, 10) + "\n" + name
}

// row returns what is stored, nil for nothing.
func (b bucket) row() any {
	if len(b) == 0 {
		return nil
	}
	return b
}

func (b bucket) find(is string) (int, bool) {
	return slices.BinarySearchFunc(b, spelled(is), func(t storedTally, want string) int { return strings.Compare(spelled(t.Is), want) })
}

// get returns the tally of a slice; a slice without one has spent nothing.
func (b bucket) get(is string, a *Account) (Tally, error) {
	i, ok := b.find(is)
	if !ok {
		return Tally{Is: is, Spent: a.nothing()}, nil
	}
	return b[i].tally(a)
}

func (s storedTally) tally(a *Account) (Tally, error) {
	spent := make(privacy.Cost, len(s.Spent))
	var err error
	for i, text := range s.Spent {
		var wrong error
		if spent[i], wrong = rational.ParseFraction(text); wrong != nil {
			err = wrong
		}
	}
	if err != nil || len(spent) != len(a.Units()) || s.Debits < 1 {
		return Tally{}, refuse(CodeTampered, "what slice %s of the account of %s has spent cannot be read", s.Is, a.Key)
	}
	return Tally{Is: s.Is, Spent: spent, Debits: s.Debits, Collected: s.Collected}, nil
}

// with returns a bucket with another tally of one slice.
func (b bucket) with(t Tally) bucket {
	s := storedTally{Is: t.Is, Spent: ratTexts(t.Spent), Debits: t.Debits, Collected: t.Collected}
	i, ok := b.find(t.Is)
	if ok {
		b = slices.Clone(b)
		b[i] = s
		return b
	}
	return slices.Insert(slices.Clip(b), i, s)
}

// buckets reads the named buckets of an account, or all of them where none is named, and holds
// each to the chain. A bucket is not there as long as none of its slices was debited.
func (t *tx) buckets(account int64, names ...string) (map[string]bucket, error) {
	where, args := "", []any{account}
	if len(names) > 0 {
		where = " AND bucket IN (" + marks(len(names)) + ")"
		for _, n := range names {
			args = append(args, n)
		}
	}
	out := map[string]bucket{}
	if err := t.each(func(row scanner) error {
		var name, text string
		var b bucket
		if err := row.Scan(&name, &text); err != nil {
			return err
		}
		if json.Unmarshal([]byte(text), &b) != nil {
			return refuse(CodeTampered, "what slices of account %d have spent cannot be read", account)
		}
		out[name] = b
		return nil
	}, "SELECT bucket, tallies FROM dprelease_slices WHERE account = ?"+where, args...); err != nil {
		return nil, err
	}
	for _, n := range names {
		b := out[n]
		out[n] = b // also what is not there is held to the chain
		t.books.readBucket(account, n, b)
	}
	return out, t.holdBuckets(account, out)
}

func (t *tx) holdBuckets(account int64, all map[string]bucket) error {
	keys := make([]string, 0, len(all))
	for name := range all {
		keys = append(keys, bucketKey(account, name))
	}
	if err := t.trust(); err != nil {
		return err
	}
	if err := t.load(keys...); err != nil {
		return err
	}
	for name, b := range all {
		if err := t.holds(bucketKey(account, name), b.row(), fmt.Sprintf("what slices of account %d have spent", account)); err != nil {
			return err
		}
	}
	return nil
}

// saveBuckets stores buckets.
func (t *tx) saveBuckets(account int64, names []string) error {
	var rows [][]any
	for _, n := range names {
		text, err := encode(t.books.slices[account][n])
		if err != nil {
			return err
		}
		rows = append(rows, []any{account, n, text})
	}
	return t.upsert("dprelease_slices", "account, bucket", "", "tallies", rows...)
}

// inSlice reads what a slice has spent, and lets the account stand for it; for all slices
// where is is "".
func (t *tx) inSlice(a *Account, is string) error {
	if is != "" {
		if _, err := t.buckets(a.ID, bucketOf(is)); err != nil {
			return err
		}
	}
	return t.books.inSlice(a, is)
}
