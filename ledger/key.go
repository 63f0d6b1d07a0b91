package ledger

import (
	"fmt"

	"github.com/dprelease/dprelease/privacy"
)

// Key names an account. Accounts are apart: each has its own limit and its own spend.
type Key struct {
	Dataset  string
	Unit     string
	Relation privacy.Relation
}

func (k Key) String() string {
	return fmt.Sprintf("data set %s (%s, %s)", k.Dataset, k.Unit, k.Relation)
}

// key is what the tree of digests knows the account by.
func (k Key) key() string {
	return "account\n" + k.Dataset + "\n" + k.Unit + "\n" + k.Relation.String()
}
