package wire

import (
	"errors"
	"fmt"

	"github.com/dprelease/dprelease/privacy"
)

var (
	errEventMissing = errors.New("event is missing")
	errEventLarge   = fmt.Errorf("event has more than %d nodes", MaxNodes)
	errEventDeep    = fmt.Errorf("event is nested more than %d deep", MaxDepth)
)

// FromEvent returns the canonical bytes of an event tree.
func FromEvent(e privacy.Event) ([]byte, error) {
	nodes := MaxNodes
	if err := bounded(e, &nodes, 0); err != nil {
		return nil, err
	}
	return privacy.Canonical(e)
}

// ToEvent returns the event tree that canonical bytes stand for. The result is well
// formed (finite numbers, no missing inner event). It need not make sense.
func ToEvent(b []byte) (privacy.Event, error) {
	if len(b) == 0 {
		return nil, errEventMissing
	}
	e, err := privacy.FromCanonical(b)
	if err != nil {
		return nil, err
	}
	nodes := MaxNodes
	return e, bounded(e, &nodes, 0)
}

// bounded returns an error for an event with more than *nodes nodes, or nested deeper
// than the protocol allows. It takes the nodes of e off.
func bounded(e privacy.Event, nodes *int, depth int) error {
	if *nodes--; *nodes < 0 {
		return errEventLarge
	}
	if depth >= MaxDepth {
		return errEventDeep
	}
	for _, inner := range privacy.Children(e) {
		if err := bounded(inner, nodes, depth+1); err != nil {
			return err
		}
	}
	return nil
}
