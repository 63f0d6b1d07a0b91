package plan

import (
	"context"
	"errors"

	"github.com/dprelease/dprelease/internal/planned"
)

// Mechanisms are the mechanisms that a job may name.
type Mechanisms interface {
	Get(ctx context.Context, name string) (planned.Mechanism, error)
}

func isFault(err error) bool {
	var f *planned.Fault
	return errors.As(err, &f)
}
