package ledger

import (
	"fmt"

	"github.com/dprelease/dprelease/privacy"
)

// Key names an account, or one slice of it. Accounts are apart: each has its own limit
// and its own spend.
type Key struct {
	Dataset  string
	Unit     string
	Relation privacy.Relation
	Slice    Slice // the zero value for the whole table
}

// UnitRow is the unit of privacy of a data set whose rows each stand for one person.
const UnitRow = "row"

// Slice is the part of a data set that has one value in a public column (P26). An account
// with a Column keeps apart what each of its slices has spent; the unit of privacy is then
// a unit in one slice.
type Slice struct {
	Column string
	Is     string // "" for the account of all slices
}

func (s Slice) String() string {
	switch {
	case s.Column == "":
		return "the whole table"
	case s.Is == "":
		return "slices by " + s.Column
	}
	return s.Column + " = " + s.Is
}

func (k Key) String() string {
	if k.Slice.Column == "" {
		return fmt.Sprintf("data set %s (%s, %s)", k.Dataset, k.Unit, k.Relation)
	}
	return fmt.Sprintf("data set %s (%s, %s, %s)", k.Dataset, k.Unit, k.Relation, k.Slice)
}

// account is the key of the account that a slice belongs to.
func (k Key) account() Key {
	k.Slice.Is = ""
	return k
}

// Is reports whether two keys are of one account, whatever slice they name.
func (k Key) Is(o Key) bool { return k.account() == o.account() }

// key is the key of the account in the tree of digests.
func (k Key) key() string { return "account\n" + k.name().text() }
