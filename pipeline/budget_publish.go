package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/report"
)

// seal makes the bytes of the releases durable before anybody can see them.
func (b *budget) seal(ctx context.Context, files []ledger.File) error {
	if err := b.ledger.Seal(ctx, b.ticket, b.contentText(), files, b.rows...); err != nil {
		return ledgerFailure(ctx, err)
	}
	b.sealed = true
	return nil
}

// published makes it durable that the output is in place.
func (b *budget) published(ctx context.Context, release int64) error {
	if err := b.ledger.Publish(ctx, release); err != nil {
		f := ledgerFailure(ctx, err)
		return resting(fail(ExitLedger, f.(*Failure).Code, "the releases are published, and the ledger does not know it yet; run the job again: %s", messageOf(err)))
	}
	return nil
}

// earlier is a run that made the releases before.
type earlier struct {
	dir     string
	report  report.Report
	results map[string]sdk.Result // what could be read back
}

// again publishes the bytes of a release that was made before.
func (b *budget) again(ctx context.Context, r *ledger.Release) (*earlier, error) {
	files, err := b.ledger.Output(ctx, r.ID)
	if err != nil {
		return nil, ledgerFailure(ctx, err)
	}
	rep, ok := reportIn(files)
	if !ok {
		return nil, fail(ExitLedger, ledger.CodeTampered, "the stored releases hold no report")
	}
	dir := b.plan.job.Output.Dir
	if !holds(dir, files) {
		if taken, err := inspectOutput(dir); err == nil && taken == outputTaken {
			return nil, b.taken(files)
		} else if err != nil {
			return nil, b.free()
		}
		out, err := newFolder(dir, b.options.disk)
		if err != nil {
			return nil, fail(ExitUsage, "OUTPUT_UNWRITABLE", "output.dir: the folder cannot be made there: %v", err)
		}
		defer out.discard()
		out.files = files
		b.options.reach("stored")
		if err := out.publish(); err != nil {
			return nil, resting(fail(ExitNotPublished, "NOT_PUBLISHED", "the releases could not be written; they are stored, run the job again"))
		}
	}
	// A release that is known to stand somewhere asks nothing more of the ledger: a
	// retry works where that cannot be written.
	if r.State != ledger.Published {
		if err := b.published(ctx, r.ID); err != nil {
			return nil, err
		}
	}
	b.options.observe(Event{Kind: "published"})
	return &earlier{dir, rep, storedResults(rep, files)}, nil
}

// holds says that a folder holds these files, byte for byte; the pages may have
// been written again by another version of this program.
func holds(dir string, files []ledger.File) bool {
	return len(files) > 0 && difference(dir, files) == ""
}

// difference names the first file of a folder that is not as it was released.
func difference(dir string, files []ledger.File) string {
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(dir, f.Path))
		page := f.Path == pageFile || f.Path == publicFile
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return f.Path + " is missing"
		case err != nil:
			return f.Path + " cannot be read"
		case !page && !bytes.Equal(b, f.Data):
			return f.Path + " was changed"
		}
	}
	return ""
}

func reportIn(files []ledger.File) (report.Report, bool) {
	var r report.Report
	for _, f := range files {
		if f.Path == reportFile {
			return r, json.Unmarshal(f.Data, &r) == nil
		}
	}
	return r, false
}

// storedReport reads the report in an output folder.
func storedReport(dir string) (report.Report, bool) {
	var r report.Report
	b, err := os.ReadFile(filepath.Join(dir, reportFile))
	return r, err == nil && json.Unmarshal(b, &r) == nil
}
