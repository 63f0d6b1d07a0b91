package main

import (
	"context"
	"encoding/gob"
	"errors"
	"io"
	"strings"

	"github.com/dprelease/dprelease/internal/run/engine"
	"github.com/dprelease/dprelease/internal/say/failure"
)

// handler carries work out, and hands over what it finds, one at a time.
type handler func(ctx context.Context, w engine.Work, found func(part int, data []byte) error) error

// refusal is an error of a handler whose words are public and may be shown.
type refusal string

// Error is the words.
func (r refusal) Error() string { return string(r) }

// attend answers the process that holds the ledger: it carries out what comes from in, one work after the other, until there is no more.
func attend(ctx context.Context, in io.Reader, out io.Writer, carryOut handler) error {
	from, to := gob.NewDecoder(in), gob.NewEncoder(out)
	for {
		var w engine.Work
		if err := from.Decode(&w); err != nil {
			return nil // the other end has gone
		}
		err := carryOut(ctx, w, func(part int, data []byte) error { return to.Encode(engine.Answer{Part: part, Data: data}) })
		last := engine.Answer{Done: true}
		var refused refusal
		var known *failure.Failure
		switch {
		case errors.Is(err, engine.ErrStalled):
			last.Stalled = true
		case errors.As(err, &refused):
			last.Refused = string(refused)
		case errors.As(err, &known):
			last.Refused = strings.TrimSuffix(known.Message, failure.SpentOnly)
		case err != nil:
			last.Failed = true
		}
		if err := to.Encode(last); err != nil {
			return err
		}
	}
}
