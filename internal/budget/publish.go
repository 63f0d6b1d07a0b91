package budget

import (
	"context"

	"github.com/dprelease/dprelease/internal/failure"
	"github.com/dprelease/dprelease/internal/output"
	"github.com/dprelease/dprelease/internal/run"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/report"
)

// Seal makes the bytes of the releases durable before anybody can see them.
func (b *Budget) Seal(ctx context.Context, files []ledger.File) error {
	b.Ticket.Columns = b.columns
	if err := b.Ledger.Seal(ctx, b.Ticket, b.contentText(), files, b.rows...); err != nil {
		if f, ok := failure.OfLedger(ctx, err).(*failure.Failure); ok && f.Code == ledger.CodeSame {
			// Another account was charged while this run read the table.
			return failure.New(f.Exit, f.Code, "%s"+failure.SpentOnly, f.Message)
		}
		return failure.OfLedger(ctx, err)
	}
	b.sealed = true
	return nil
}

// Published makes it durable that the output is in place.
func (b *Budget) Published(ctx context.Context, release int64) error {
	if err := b.Ledger.Publish(ctx, release); err != nil {
		f := failure.OfLedger(ctx, err)
		return failure.Resting(failure.New(failure.ExitLedger, f.(*failure.Failure).Code, "the releases are published, and the ledger does not know it yet; run the job again: %s", failure.Message(err)))
	}
	return nil
}

// Earlier is a run that made the releases before.
type Earlier struct {
	Dir     string
	Report  report.Report
	Results map[string]sdk.Result // what could be read back
}

// again publishes the bytes of a release that was made before.
func (b *Budget) again(ctx context.Context, r *ledger.Release) (*Earlier, error) {
	files, err := b.Ledger.Output(ctx, r.ID)
	if err != nil {
		return nil, failure.OfLedger(ctx, err)
	}
	rep, ok := output.ReportIn(files)
	if !ok {
		return nil, failure.New(failure.ExitLedger, ledger.CodeTampered, "the stored releases hold no report")
	}
	dir := b.plan.Job.Output.Dir
	if !output.Holds(dir, files) {
		if taken, err := output.InspectOutput(dir); err == nil && taken == output.OutputTaken {
			return nil, b.taken(files)
		} else if err != nil {
			return nil, b.free()
		}
		out, err := output.NewFolder(dir, b.options.Disk)
		if err != nil {
			return nil, failure.New(failure.ExitUsage, "OUTPUT_UNWRITABLE", "output.dir: the folder cannot be made there: %v", err)
		}
		defer out.Discard()
		out.Files = files
		b.options.Reach("stored")
		if err := out.Publish(); err != nil {
			return nil, failure.Resting(failure.New(failure.ExitNotPublished, "NOT_PUBLISHED", "the releases could not be written; they are stored, run the job again"))
		}
	}
	// A release that is known to stand somewhere asks nothing more of the ledger: a
	// retry works where that cannot be written.
	if r.State != ledger.Published {
		if err := b.Published(ctx, r.ID); err != nil {
			return nil, err
		}
	}
	b.options.Observe(run.Event{Kind: "published"})
	return &Earlier{dir, rep, output.StoredResults(rep, files)}, nil
}
