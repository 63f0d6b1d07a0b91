package ledger

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/dprelease/dprelease/privacy"
)

// accountName is a key as records hold it.
type accountName struct {
	Dataset  string `json:"dataset,omitempty"`
	Unit     string `json:"unit,omitempty"`
	Relation string `json:"relation,omitempty"`
	Slices   string `json:"slices_by,omitempty"`
}

func (k Key) name() accountName {
	return accountName{k.Dataset, k.Unit, k.Relation.String(), k.Slice.Column}
}

// key reads the name.
func (n accountName) key() (Key, error) {
	rel, err := privacy.ParseRelation(n.Relation)
	return Key{Dataset: n.Dataset, Unit: n.Unit, Relation: rel, Slice: Slice{Column: n.Slices}}, err
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
	if k.Unit != UnitRow {
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
	// SliceTag is like Tag, of the rows of the job's slice, and SliceDigest like Digest, of the values in those rows.
	// SliceTag is "" for a job without a slice, and where the values do not identify the rows.
	SliceTag, SliceDigest string
}

// mark is the HMAC of a text under the ledger's key: it tells nobody else whether two are alike (P19).
func (l *Ledger) mark(about string) string {
	mac := hmac.New(sha256.New, l.content[:])
	mac.Write([]byte(about))
	return hex.EncodeToString(mac.Sum(nil))
}

// Tag makes the tag of a column.
func (l *Ledger) Tag(name string, rows int64) string {
	return l.mark("dprelease column 1\n" + strconv.FormatInt(rows, 10) + "\n" + name)
}

// Separate records that two accounts may spend on the same data.
func (l *Ledger) Separate(ctx context.Context, a, b Key, reason string) error {
	if a.account() == b.account() {
		return refuse(CodeSame, "an account is not separate from itself: name two")
	}
	return l.setApart(ctx, pair(a.name(), b.name()), &separateBody{Accounts: []accountName{a.name(), b.name()}, reasoned: reasoned{reason}})
}

// setApart appends a record that two accounts, or slices of one, are separate, unless one says so already.
func (l *Ledger) setApart(ctx context.Context, p [2]string, r *separateBody) error {
	return l.write(ctx, func(t *tx) error {
		there, err := t.separate(p)
		if err == nil && !there {
			_, err = t.append(r)
		}
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
	t.books.pairs[p] = n > 0
	return n > 0, t.holds(pairKey(p), read, "the permission for two accounts, or two slices, on the same data")
}

// columnUse says that an account was charged for a column, and under which slice. It is as private as the data.
type columnUse struct {
	Account     int64  `json:"account"`
	Allotment   string `json:"allotment,omitempty"` // the collected panel that it is a wave of
	Tag         string `json:"tag"`
	Digest      string `json:"digest"`
	Slice       string `json:"slice,omitempty"` // its value
	SliceTag    string `json:"slice_tag,omitempty"`
	SliceDigest string `json:"slice_digest,omitempty"`
}

// columnUses are the uses of all columns of one name. name is the SHA-256 of theirs, and
// release the one whose seal added to them last.
type columnUses struct {
	name    string
	release int64
	uses    []columnUse
}

// columnMark stands for columnUses in the chain and the tree of digests: under the ledger's
// key, and with the release, so that nobody without the key can tell whether two are of the
// same columns (P19).
type columnMark struct {
	Release int64
	Mark    string
}

func (c *columnUses) mark(l *Ledger) (columnMark, error) {
	text, err := encode(c.uses)
	return columnMark{c.release, l.mark("dprelease columns 1\n" + strconv.FormatInt(c.release, 10) + "\n" + c.name + "\n" + text)}, err
}

// columnKey is the key of the uses of columns of one name in the tree of digests.
func columnKey(name string) string { return "column\n" + name }

func scanColumns(s scanner) (*columnUses, error) {
	var c columnUses
	var text string
	if err := s.Scan(&c.name, &c.release, &text); err != nil {
		return nil, err
	}
	if json.Unmarshal([]byte(text), &c.uses) != nil {
		return nil, refuse(CodeTampered, "the columns that accounts were charged for cannot be read")
	}
	return &c, nil
}

// columns reads the uses of columns by their names, also of those that were never used, and
// holds them to the chain.
func (t *tx) columns(of []Column) (map[string]*columnUses, error) {
	out := map[string]*columnUses{}
	var args []any
	keys := []string{secretKey}
	for _, c := range of {
		name := digestOf([]byte(c.Name))
		if out[name] == nil {
			out[name] = &columnUses{name: name}
			args, keys = append(args, name), append(keys, columnKey(name))
		}
	}
	if len(args) == 0 {
		return out, nil
	}
	if err := t.each(func(row scanner) error {
		c, err := scanColumns(row)
		if err == nil {
			out[c.name] = c
		}
		return err
	}, "SELECT name, release, charged FROM dprelease_columns WHERE name IN ("+marks(len(args))+")", args...); err != nil {
		return nil, err
	}
	if err := t.trust(); err != nil {
		return nil, err
	}
	if err := t.load(keys...); err != nil {
		return nil, err
	}
	for name, c := range out {
		var read any
		if c.release != 0 {
			mark, err := c.mark(t.l)
			if err != nil {
				return nil, err
			}
			read = mark
		}
		if err := t.holds(columnKey(name), read, "the list of columns that accounts were charged for"); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// same refuses a job on data, or tables, that another account, slice or collected panel was charged for, unless a person said
// that they are separate, or the slices are alike by what was paid for them. Where the bytes must be known to decide
// that, and are not, it asks for them.
func (t *tx) same(k Key, columns []Column, tables []Table, of sharing) (ask bool, err error) {
	if err := t.stays(tables); err != nil {
		return false, err
	}
	used, err := t.columns(columns)
	if err != nil {
		return false, err
	}
	if ask, err = t.otherAccount(k, columns, used, of.allotment); err != nil || ask {
		return ask, err
	}
	return t.otherSlice(k, columns, used, of.alike)
}

// otherAccount refuses a job on a column that another account was charged for, or another collected panel of this one: both
// would be amplified by one allotment (P36).
func (t *tx) otherAccount(k Key, columns []Column, used map[string]*columnUses, allotment string) (ask bool, err error) {
	accounts := map[int64]Key{}
	for _, c := range columns {
		for _, u := range used[digestOf([]byte(c.Name))].uses {
			if u.Tag != c.Tag || c.Digest != "" && c.Digest != u.Digest {
				continue
			}
			other, ok := accounts[u.Account]
			if !ok {
				if other, err = t.keyOf(u.Account); err != nil {
					return false, err
				}
				accounts[u.Account] = other
			}
			if other.Is(k) && (allotment == "" || u.Allotment == "" || u.Allotment == allotment) {
				continue
			}
			there, err := t.separate(pair(k.name(), other.name()))
			switch {
			case err != nil:
				return false, err
			case there:
			case c.Digest == "":
				ask = true
			case other.Is(k):
				return false,
					refuse(CodeSame, "another panel of the account of %s was charged for the same data, and units that were allotted once are paid "+
						"for once: use its panel: NAME, or say that it is meant: dprelease ledger separate %s --reason TEXT", k, k.flags(""))
			default:
				return false,
					refuse(CodeSame, "the account of %s was charged for the same data: a second account would be a second budget for it; "+
						"use that dataset.id, unit, relation and dataset.slice, or say that it is meant: dprelease ledger separate %s %s --reason TEXT",
						other, k.flags(""), other.flags("from"))
			}
		}
	}
	return ask, nil
}

// keyOf finds the key of an account by its number.
func (t *tx) keyOf(id int64) (Key, error) {
	all, err := t.accounts("WHERE a.id = ?", id)
	switch {
	case err != nil:
		return Key{}, err
	case len(all) != 1:
		return Key{}, t.tampered(fmt.Sprintf("account %d is gone: a table of the ledger", id))
	}
	return all[0].Key, nil
}

// charged adds the columns that an account was charged for, and its tables, to those that the ledger knows, and
// returns what the seal of the release says of them.
func (t *tx) charged(k *Ticket) (changed map[string]*columnUses, marks map[string]string, err error) {
	of := slices.Clone(k.Columns)
	for _, m := range k.Tables {
		of = append(of, Column{Name: m.Mark})
	}
	if changed, err = t.columns(of); err != nil {
		return nil, nil, err
	}
	marks = map[string]string{}
	add := func(name string, use columnUse) error {
		list := changed[name]
		list.release = k.Release
		if !slices.Contains(list.uses, use) {
			list.uses = append(list.uses, use)
		}
		mark, err := list.mark(t.l)
		marks[name] = mark.Mark
		return err
	}
	for _, m := range k.Tables {
		if err := add(digestOf([]byte(m.Mark)), m.use(k.Account.ID)); err != nil {
			return nil, nil, err
		}
	}
	for _, c := range k.Columns {
		if c.Digest == "" || c.SliceTag != "" && c.SliceDigest == "" {
			return nil, nil, refuse(CodeChanged, "the content of column %s is not known", c.Name)
		}
		use := columnUse{Account: k.Account.ID, Allotment: k.of.allotment, Tag: c.Tag, Digest: c.Digest}
		if c.SliceTag != "" {
			use.Slice, use.SliceTag, use.SliceDigest = k.Account.Slice.Is, c.SliceTag, c.SliceDigest
		}
		if err := add(digestOf([]byte(c.Name)), use); err != nil {
			return nil, nil, err
		}
	}
	return changed, marks, nil
}

// saveColumns stores the uses of columns.
func (t *tx) saveColumns(changed map[string]*columnUses) error {
	var rows [][]any
	for _, name := range slices.Sorted(maps.Keys(changed)) {
		text, err := encode(changed[name].uses)
		if err != nil {
			return err
		}
		rows = append(rows, []any{name, changed[name].release, text})
	}
	return t.upsert("dprelease_columns", "name", "", "release, charged", rows...)
}
