package ledger

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dprelease/dprelease/internal/job"
)

const kindSeparate = "separate"

// separateBody says that two accounts may spend on the same data, each with a limit of
// its own.
type separateBody struct {
	stamp
	Accounts [2]accountName `json:"accounts"`
	Reason   string         `json:"reason"`
}

// accountName is a key as records hold it.
type accountName struct {
	Dataset  string `json:"dataset"`
	Unit     string `json:"unit"`
	Relation string `json:"relation"`
	Slices   string `json:"slices_by,omitempty"`
}

func (k Key) name() accountName {
	return accountName{k.Dataset, k.Unit, k.Relation.String(), k.Slice.Column}
}

// text is the key of an account as rows of pairs hold it.
func (n accountName) text() string {
	text := n.Dataset + "\n" + n.Unit + "\n" + n.Relation
	if n.Slices != "" {
		text += "\n" + n.Slices
	}
	return text
}

// flags are the flags of ledger separate that name the account; prefix is from for the
// other one.
func (k Key) flags(prefix string) string {
	name := "--dataset"
	if prefix != "" {
		name, prefix = "--"+prefix, prefix+"-"
	}
	text := name + " " + k.Dataset + " --" + prefix + "relation " + k.Relation.String()
	if k.Unit != job.UnitRow {
		text += " --" + prefix + "unit " + k.Unit
	}
	if k.Slice.Column != "" {
		text += " --" + prefix + "slices-by " + k.Slice.Column
	}
	return text
}

// pair writes two accounts as the two texts of a row, in the order of texts.
func pair(a, b accountName) [2]string {
	out := [2]string{a.text(), b.text()}
	slices.Sort(out[:])
	return out
}

// Column identifies one column that a job reads. Tag and Digest are made under the
// ledger's key and are as private as the data (P19). They stand beside the chain, in
// no record and no export.
type Column struct {
	Name   string
	Tag    string // of the column's name and the number of rows: known before the column is read
	Digest string // of the stored bytes, "" while they are not known
}

// Tag makes the tag of a column.
func (l *Ledger) Tag(name string, rows int64) string {
	mac := hmac.New(sha256.New, l.content[:])
	mac.Write([]byte("dprelease column 1\n" + strconv.FormatInt(rows, 10) + "\n" + name))
	return hex.EncodeToString(mac.Sum(nil))
}

// Separate records that two accounts may spend on the same data.
func (l *Ledger) Separate(ctx context.Context, a, b Key, reason string) error {
	if strings.TrimSpace(reason) == "" {
		return refuse(CodeSame, "two accounts for the same data need a reason, which is recorded")
	}
	if a.account() == b.account() {
		return refuse(CodeSame, "an account is not separate from itself: name two")
	}
	return l.write(ctx, func(t *tx) error {
		p := pair(a.name(), b.name())
		there, err := t.separate(p)
		if err != nil || there {
			return err
		}
		if err := t.exec("INSERT INTO dprelease_separate (one, other) VALUES (?, ?)", p[0], p[1]); err != nil {
			return err
		}
		if err := t.commit(pairKey(p), p); err != nil {
			return err
		}
		_, err = t.append(kindSeparate, &separateBody{Accounts: [2]accountName{a.name(), b.name()}, Reason: reason})
		return err
	})
}

// pairKey is the key of a pair of separate accounts in the tree of digests.
func pairKey(p [2]string) string { return fmt.Sprintf("separate\n%q", p) }

func (t *tx) separate(p [2]string) (bool, error) {
	var n int
	if err := t.row("SELECT COUNT(*) FROM dprelease_separate WHERE one = ? AND other = ?", p[0], p[1]).Scan(&n); err != nil {
		return false, err
	}
	var read any
	if n > 0 {
		read = p
	}
	return n > 0, t.holds(pairKey(p), read, "the permission for two accounts on the same data")
}

// same refuses a job on data that another account was charged for, unless a person
// said that the two are separate. Where the bytes must be known to decide that, and are
// not, it asks for them.
func (t *tx) same(k Key, columns []Column, content string) (ask bool, err error) {
	var where []string
	var args []any
	for _, c := range columns {
		where = append(where, "c.tag = ?")
		args = append(args, c.Tag)
	}
	// An earlier version kept one digest of all columns of a job together.
	query := "SELECT a.dataset, a.unit, a.relation, a.slice, '', '' FROM dprelease_accounts a WHERE EXISTS (SELECT 1 FROM dprelease_former f JOIN dprelease_releases r ON r.id = f.release WHERE r.account = a.id)"
	if content != "" {
		query = "SELECT a.dataset, a.unit, a.relation, a.slice, '', r.content FROM dprelease_releases r JOIN dprelease_former f ON f.release = r.id JOIN dprelease_accounts a ON a.id = r.account WHERE r.content = ?"
		args = append([]any{content}, args...)
	}
	if len(columns) > 0 {
		query += " UNION ALL SELECT a.dataset, a.unit, a.relation, a.slice, c.tag, c.digest FROM dprelease_columns c JOIN dprelease_accounts a ON a.id = c.account WHERE " + strings.Join(where, " OR ")
	}
	type hit struct {
		other  Key
		column string
	}
	var hits []hit
	if err := t.each(func(row scanner) error {
		var other Key
		var relation, tag, digest string
		if err := row.Scan(&other.Dataset, &other.Unit, &relation, &other.Slice.Column, &tag, &digest); err != nil {
			return err
		}
		if other.Relation.UnmarshalText([]byte(relation)) != nil {
			return refuse(CodeTampered, "an account cannot be read")
		}
		switch {
		case other == k.account():
		case tag == "" && content == "":
			hits = append(hits, hit{other: other})
		case tag == "" && digest == content:
			hits = append(hits, hit{other, "all columns that this job reads"})
		case tag != "":
			for _, c := range columns {
				if c.Tag == tag && c.Digest == "" {
					hits = append(hits, hit{other: other})
				} else if c.Tag == tag && c.Digest == digest {
					hits = append(hits, hit{other, "column " + c.Name})
				}
			}
		}
		return nil
	}, query, args...); err != nil {
		return false, err
	}
	for _, h := range hits {
		there, err := t.separate(pair(k.name(), h.other.name()))
		switch {
		case err != nil:
			return false, err
		case there:
		case h.column == "":
			ask = true
		default:
			return false, refuse(CodeSame, "the account of %s was charged for the same data (%s): a second account would be a second budget for it; use that dataset.id, unit, relation and dataset.slice, or say that it is meant: dprelease ledger separate %s %s --reason TEXT",
				h.other, h.column, k.flags(""), h.other.flags("from"))
		}
	}
	return ask, nil
}

// noteColumns remembers which columns an account was charged for.
func (t *tx) noteColumns(account int64, columns []Column) error {
	for _, c := range columns {
		if c.Digest == "" {
			return refuse(CodeChanged, "the content of column %s is not known", c.Name)
		}
		if err := t.exec("INSERT INTO dprelease_columns (account, tag, digest) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", account, c.Tag, c.Digest); err != nil {
			return err
		}
	}
	return nil
}

func (v *Auditor) separate(r *Record, b *separateBody) error {
	p := pair(b.Accounts[0], b.Accounts[1])
	if b.Reason == "" || p[0] == p[1] || v.pairs[p] {
		return fmt.Errorf("two accounts are separate without a reason, or twice")
	}
	v.pairs[p] = true
	v.put(pairKey(p), p)
	return nil
}
