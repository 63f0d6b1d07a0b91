package ledger

import (
	"context"
	"errors"
	"fmt"
)

// Answer says that a job was refused because its data, or a table of its own, are those of other
// releases (CodeSame). That answers whether a column is, byte for byte, what the caller guesses, for
// nothing (P40): so each answer is a record, and guessing is seen. No record names a column.
type Answer struct {
	Record   int64  `json:"record"`
	At       string `json:"at"`
	By       string `json:"by"`
	Job      string `json:"job"`
	Dataset  string `json:"dataset"` // of the account that the job named, which need not be there
	Unit     string `json:"unit"`
	Relation string `json:"relation"`
	SlicesBy string `json:"slices_by,omitempty"`
}

// recordAnswer records a refusal by CodeSame, and returns it as told: the caller commits, and then returns
// it to its own caller. Any other error it returns as err.
func (t *tx) recordAnswer(k Key, job string, refused error) (told, err error) {
	var known *Error
	if !errors.As(refused, &known) || known.Code != CodeSame {
		return nil, refused
	}
	_, err = t.append(&answerBody{accountName: k.name(), Job: job})
	return known, err
}

// Answers returns the answers that jobs got, the oldest first.
func (l *Ledger) Answers(ctx context.Context) ([]Answer, error) {
	return reading(ctx, l, func(t *tx) (out []Answer, err error) {
		err = eachBody(t, "WHERE kind = 'answer'", func(r Record, b answerBody) {
			out = append(out,
				Answer{Record: r.Seq, At: b.At, By: b.By, Job: b.Job, Dataset: b.Dataset, Unit: b.Unit, Relation: b.Relation, SlicesBy: b.Slices})
		})
		return out, err
	})
}

// answerBody says that a job was told that its data are those of other releases.
type answerBody struct {
	stamp
	accountName
	Job string `json:"job"`
}

func (r *answerBody) enter(*books, int64) error {
	if r.By == "" || r.Dataset == "" {
		return fmt.Errorf("an answer about nothing, or to nobody")
	}
	return nil
}
