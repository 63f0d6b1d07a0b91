package ledger

import (
	"crypto/sha256"
	"encoding/hex"
)

// CollectedID is the id of the draw that made the table of an account itself a
// sample of a population. It is one draw for all jobs of the account: what they
// release is composed on the table first and amplified once (P4).
func CollectedID(k Key) string {
	sum := sha256.Sum256([]byte("dprelease collected 1\n" + k.Dataset + "\n" + k.Unit + "\n" + k.Relation.String()))
	return hex.EncodeToString(sum[:16])
}

// Collected says that the draw was made by whoever collected the table: the ledger
// has no rows of it.
func (s *Sample) Collected() bool { return s.Ready && s.Content == "" }

// collectedOnly refuses a job that treats the table of an account otherwise than
// the jobs before it: as collected by an amplified draw, or not. The sum of the two
// is not proven.
func (t *tx) collectedOnly(a *Account, q *Request) error {
	id := CollectedID(a.Key)
	before, err := t.sample(id)
	if err != nil {
		return err
	}
	says := false
	for _, step := range q.Draws {
		says = says || step.Sample == id
	}
	switch {
	case before != nil && !says:
		return refuse(CodeSample, "the earlier jobs on this data set said dataset.collected, and were charged for a table that is itself a sample; this one must say the same")
	case before == nil && says && a.Debits > 0:
		return refuse(CodeSample, "the earlier jobs on this data set were not charged together for a table that is itself a sample: use another dataset.id with dataset.collected, or leave it out")
	}
	return nil
}
