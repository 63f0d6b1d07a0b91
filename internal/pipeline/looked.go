package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/report"
)

// recordLook tells the ledger. A ledger that the job names is never made by a look; the
// one beside the job is, as by a run.
func recordLook(ctx context.Context, j *job.Job, o Options) (string, error) {
	at, err := LedgerOf(j)
	if err != nil {
		return "", err
	}
	l, err := openAt(ctx, at, ledger.Options{Create: j.Budget.Ledger.Reveal() == "", By: o.By, LockWait: o.LockWait})
	if err != nil {
		return "", err
	}
	if l == nil {
		return fmt.Sprintf("not recorded: there is no ledger at %s yet", at), nil
	}
	defer l.Close()
	err = l.RecordLook(ctx, planned.AccountOf(j), ledger.PrivateLook{Job: j.Name, Columns: declarations(j)})
	return fmt.Sprintf("recorded in %s", at), failure.OfLedger(ctx, err)
}

// declarations are digests of the bounds and domains of a job's columns: all that a look
// could have been used to choose.
func declarations(j *job.Job) map[string]string {
	out := map[string]string{}
	for _, c := range j.Dataset.Columns {
		declared := struct {
			Lower, Upper string
			Domain       []string
		}{Domain: c.Domain}
		if !c.Plain() && c.Type == job.Number {
			declared.Lower, declared.Upper = c.Lower.RatString(), c.Upper.RatString()
		}
		b, err := json.Marshal(declared)
		if err != nil {
			continue // plain texts always marshal
		}
		sum := sha256.Sum256(append([]byte("dprelease declaration 1\n"), b...))
		out[c.Name] = hex.EncodeToString(sum[:])
	}
	return out
}

// lookedAt returns the part of the report about private looks at the table, nil for none.
// A column counts as changed where one of the looks saw other bounds, or another domain,
// than the job has now.
func lookedAt(ctx context.Context, l *ledger.Ledger, j *job.Job) (*report.Look, error) {
	looks, err := l.Looks(ctx, j.Dataset.ID)
	if err != nil || len(looks) == 0 {
		return nil, err
	}
	out := &report.Look{}
	now := declarations(j)
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if slices.ContainsFunc(looks, func(p ledger.PrivateLook) bool { was, ok := p.Columns[name]; return ok && was != now[name] }) {
			out.Changed = append(out.Changed, name)
		}
	}
	return out, nil
}
