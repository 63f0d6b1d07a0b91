package ledger

import (
	"errors"
	"fmt"
)

// recordAnswer records a refusal by CodeSame, and returns it as told: the caller commits, and then returns
// it to its own caller. Any other error it returns as err.
//
// The refusal answers whether a column is, byte for byte, what the caller guesses, for nothing (P40): so each answer is a
// record, and guessing is seen. No record names a column.
func (t *tx) recordAnswer(k Key, job string, refused error) (told, err error) {
	var known *Error
	if !errors.As(refused, &known) || known.Code != CodeSame {
		return nil, refused
	}
	_, err = t.append(&answerBody{accountName: k.name(), Job: job})
	return known, err
}

// answerBody says that a job was told that its data are those of other releases.
type answerBody struct {
	stamp
	accountName
	Job string `json:"job"`
}

func (r *answerBody) enter(*books, int64) error {
	if r.Dataset == "" {
		return fmt.Errorf("an answer about nothing")
	}
	return nil
}
