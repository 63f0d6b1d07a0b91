package run

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/guard"
	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/samplers"
)

// firstCause picks what went wrong first: a plugin that fails breaks the scan
// that feeds it, and a scan that fails cancels the plugins.
func firstCause(releases []error, scan, cause error) error {
	for _, err := range releases {
		var plugin *host.Error
		if errors.As(err, &plugin) && plugin.Code != host.CodeCanceled {
			return err
		}
	}
	return errors.Join(scan, cause, errors.Join(releases...))
}

// ErrCrashed takes the place of a panic after the debit. The words of the panic are dropped: they may quote a value (P20).
var ErrCrashed = failure.New(failure.ExitBug, "CRASHED",
	"dprelease failed on a fault of its own; nothing was published, and the budget is spent. "+
		"Do not run the job again: it would most likely spend again and fail again. Please report the fault")

// guarded turns a panic of f into ErrCrashed. Every goroutine that works after the debit runs under it: a panic that
// nobody recovers from ends the process, and with it what is said of the failure.
func guarded(f func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = ErrCrashed
		}
	}()
	return f()
}

// BlamesData reports whether the same job must fail on the same data again: not where
// the run lost its lease, was interrupted, found the table changed or unreadable, or a
// mechanism failed.
func BlamesData(ctx context.Context, known, err error) bool {
	var f *failure.Failure
	var source *table.Error
	var sampler *samplers.Error
	switch {
	case ctx.Err() != nil || !errors.As(known, &f):
		return false
	case strings.HasPrefix(f.Code, "DATA_"):
		return f.Code != ledger.CodeChanged
	case errors.As(err, &sampler):
		return sampler.Code != samplers.Misuse
	case errors.As(err, &source):
		return !slices.Contains([]string{table.CodeChanged, table.CodeUnreadable, table.CodeUnreachable, table.CodeUntrusted, table.CodeDenied},
			source.Code)
	}
	return false
}

// CodeOf is all that is said of a failure once rows have been read (P20).
func CodeOf(ctx context.Context, err error) error {
	var f *failure.Failure
	var plugin *host.Error
	var source *table.Error
	var sampler *samplers.Error
	var lost *ledger.Error
	switch {
	case errors.As(unitFailure(err), &f):
		return f
	case errors.Is(err, guard.ErrPanic):
		return ErrCrashed
	case errors.As(context.Cause(ctx), &lost):
		return failure.New(failure.ExitLedger, lost.Code, "%s"+failure.SpentOnly, lost.Message)
	case ctx.Err() != nil:
		return failure.New(failure.ExitInterrupted, "INTERRUPTED", "the run was interrupted after its budget was spent; nothing was published")
	case errors.As(err, &sampler) && sampler.Code == samplers.NoRandomness:
		return failure.New(failure.ExitBug, "NO_RANDOMNESS", "%s"+failure.SpentOnly, sampler.Detail())
	case errors.As(err, &sampler):
		return failure.New(failure.ExitSource, "SAMPLE_"+strings.ToUpper(string(sampler.Code)), "%s"+failure.SpentOnly, sampler.Detail())
	case errors.As(err, &source):
		return failure.New(failure.ExitSource, SourceCode(source), "%s"+failure.SpentOnly, source.Error())
	case errors.As(err, &plugin):
		return failure.New(failure.ExitPlugin, plugin.Code, "%s"+failure.SpentOnly, plugin.Error())
	}
	return failure.New(failure.ExitBug, "INTERNAL", "the run failed after its budget was spent; nothing was published")
}
