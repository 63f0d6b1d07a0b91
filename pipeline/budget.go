package pipeline

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/table"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/report"
)

// budget is the ledger as one run of one job uses it. Its steps come in this
// order: released, debit, seal, published (P21).
type budget struct {
	plan    *Plan
	options Options
	ledger  *ledger.Ledger
	key     string             // what is asked: the job's digest
	former  []string           // the digests that earlier versions gave the job
	content *table.Fingerprint // what it is asked of, once that is known
	columns []ledger.Column    // the same, column by column
	whole   string             // the content of the whole table, for kept draws
	rows    []ledger.Rows      // of the draws that this run keeps
	ticket  *ledger.Ticket
	sealed  bool
	failure *ledger.Failure // how the run failed after its debit
	made    string          // says that the ledger is new, "" where it is not
}

// defaultWait is how long a run waits for another one of the same job.
const defaultWait = 10 * time.Minute

// LedgerOf returns the address of the ledger that the job names, or of the default
// one in the job's folder. It refuses a job whose ledger an earlier version of this
// program put in another place, so that nothing that was spent is forgotten.
func LedgerOf(ctx context.Context, j *job.Job) (ledger.Address, error) {
	a, err := ledger.ParseAddress(j.Budget.Ledger.Reveal(), j.Dir)
	if err != nil {
		return a, oneProblem(j, "budget.ledger", messageOf(err), "")
	}
	for _, place := range formerPlaces(j) {
		if !spentAt(ctx, place, j.Dataset.ID) {
			continue
		}
		what := "move the file there, with the files -wal and -shm beside it"
		if _, err := os.Stat(strings.TrimPrefix(a.Full(), "sqlite:")); err == nil {
			what = "there are two ledgers now, each with a part of what was spent: keep one of them in that place, lower its limit by what dprelease ledger show prints for the other one, and move the other one away"
		}
		return a, oneProblem(j, "budget.ledger", fmt.Sprintf("an earlier version joined this path to the job's folder twice and kept the ledger of data set %s at %s; the place is %s", j.Dataset.ID, place.Full(), a.Full()), what)
	}
	return a, nil
}

// formerPlaces lists where earlier versions may have put the ledger of a job. They
// joined a relative path to the folder of the job twice, as that folder was named
// from the folder of the run. Any folder above the job's may have been that folder.
func formerPlaces(j *job.Job) []ledger.Address {
	path, ok := strings.CutPrefix(j.Budget.Ledger.Reveal(), "sqlite:")
	bare, slashes := strings.CutPrefix(path, "//")
	if !ok || filepath.IsAbs(bare) {
		return nil
	}
	var names []string
	if slashes {
		names = append(names, "/"+bare) // they took the slashes for those of a path
	} else {
		names = append(names, filepath.Join(j.Dir, j.Dir, path))
		if dir, err := filepath.Abs(j.Dir); err == nil {
			suffix := ""
			for above := dir; above != filepath.Dir(above); above = filepath.Dir(above) {
				suffix = filepath.Join(filepath.Base(above), suffix)
				names = append(names, filepath.Join(dir, suffix, path))
			}
		}
	}
	here, err := ledger.ParseAddress(j.Budget.Ledger.Reveal(), j.Dir)
	if err != nil {
		return nil
	}
	var out []ledger.Address
	for _, name := range names {
		if _, err := os.Stat(name); err != nil {
			continue
		}
		if a, err := ledger.ParseAddress("sqlite:"+name, "."); err == nil && a.Full() != here.Full() {
			out = append(out, a)
		}
	}
	return out
}

// spentAt reports whether a ledger knows a data set, or cannot be asked.
func spentAt(ctx context.Context, a ledger.Address, dataset string) bool {
	l, err := ledger.Open(ctx, a, ledger.Options{ReadOnly: true})
	if err != nil {
		var known *ledger.Error
		return !errors.As(err, &known) || known.Code != ledger.CodeMissing
	}
	defer l.Close()
	all, err := l.Accounts(ctx)
	return err != nil || slices.ContainsFunc(all, func(a *ledger.Account) bool { return a.Dataset == dataset })
}

func messageOf(err error) string {
	var known *ledger.Error
	if errors.As(err, &known) {
		return known.Message
	}
	return "cannot be used"
}

// before says that this plan was released before, from whatever data.
func (b *budget) before(ctx context.Context) bool {
	s, err := b.ledger.Look(ctx, b.key, "", b.former...)
	return err == nil && s.Compare
}

// released returns the outcome of an earlier run of the same job on the same data,
// published again, or nil where there is none. It waits for a run that is at work.
func (b *budget) released(ctx context.Context, t *openedTable) (*Outcome, error) {
	s, err := b.wait(ctx, t, func() (ledger.Standing, error) {
		return b.ledger.Look(ctx, b.key, b.contentText(), b.former...)
	})
	switch {
	case err != nil:
		return nil, err
	case s.Found != nil:
		return b.again(ctx, s.Found)
	case s.Hopeless():
		return nil, hopeless(s.Failed)
	case s.Unfinished && !b.options.Again:
		return nil, ledgerFailure(ctx, s.Refusal())
	}
	return nil, b.free()
}

// hopeless repeats how an earlier run failed on the same data.
func hopeless(f *ledger.Failure) error {
	known := fail(f.Exit, f.Code, "%s; an earlier run failed so on the same data, and its budget stays spent: trying again cannot help; mend the table, or what the job says of it; nothing was drawn and nothing debited", strings.TrimSuffix(f.Message, spentOnly))
	known.Again = RetryNo
	return known
}

// free refuses an output folder that holds anything.
func (b *budget) free() error {
	taken, err := inspectOutput(b.plan.job.Output.Dir)
	switch {
	case err != nil:
		return fail(ExitUsage, "OUTPUT_UNWRITABLE", "output.dir: %s cannot be read", b.plan.job.Output.Dir)
	case taken == outputTaken:
		return b.taken(nil)
	}
	return nil
}

// taken says what stands at the place of the output folder: these releases, but not
// as they were made; other ones of this program; or anything else.
func (b *budget) taken(files []ledger.File) error {
	dir := b.plan.job.Output.Dir
	problem := func(message, hint string) error { return oneProblem(b.plan.job, "output.dir", message, hint) }
	r, ok := storedReport(dir)
	mine := ok && (r.Job.Digest == b.plan.report.Job.Digest || slices.Contains(b.plan.job.FormerDigests(), r.Job.Digest))
	switch {
	case len(files) > 0 && mine:
		return problem("holds these releases, but "+difference(dir, files), "move the folder away and run the job again: what was released is put there as it was, and nothing is spent")
	case mine:
		return problem("holds what this job released before, from other data or from another ledger; it is never overwritten", "move that folder away, or name another; on other data the run is a new release and spends again")
	case ok && r.Job.Name == b.plan.job.Name && r.Job.Digest != "":
		return problem("holds what the job "+r.Job.Name+" released before it was changed; it is never overwritten", "move that folder away, or name another; what the job asks for now is a new release and spends again")
	case ok && r.Job.Digest != "":
		return problem("holds the releases of another job, "+r.Job.Name+", which are never overwritten", "name another folder")
	}
	if what := irreplaceable(dir); what != "" {
		return problem("is "+what+", and the run makes the folder", "name a folder that is not there yet, or one inside it")
	}
	return problem("already holds something else, which is never overwritten", "name another folder")
}

// debit makes the spend durable; nothing is drawn before it returns. It returns an
// outcome where another run was faster.
func (b *budget) debit(ctx context.Context, t *openedTable, out *folder) (*Outcome, error) {
	q, err := b.plan.request()
	if err != nil {
		return nil, err
	}
	q.Plan, q.Former, q.Again, q.Lease = b.key, b.former, b.options.Again, b.options.lease
	if q.Folder, err = filepath.Abs(out.temp); err == nil {
		q.Host, err = os.Hostname()
	}
	if err != nil {
		q.Folder = "" // nobody can find it again
	}
	s, err := b.wait(ctx, t, func() (ledger.Standing, error) {
		q.Content, q.Columns = b.contentText(), b.columns
		return b.ledger.Debit(ctx, q)
	})
	switch {
	case err != nil:
		return nil, err
	case s.Found != nil:
		return b.again(ctx, s.Found)
	case s.Hopeless():
		return nil, hopeless(s.Failed)
	case s.Moved:
		return nil, errMoved
	}
	b.ticket = s.Ticket
	return nil, nil
}

// wait asks until the answer is final: it finds out what the data are where the
// ledger has to compare them, and waits while another run is at work.
func (b *budget) wait(ctx context.Context, t *openedTable, ask func() (ledger.Standing, error)) (ledger.Standing, error) {
	limit := b.options.Wait
	if limit == 0 {
		limit = defaultWait
	}
	start, pause := time.Now(), 20*time.Millisecond
	for {
		s, err := ask()
		switch {
		case err != nil:
			return s, ledgerFailure(ctx, err)
		case s.Busy:
			b.options.observe(Event{Kind: "waiting"})
			if time.Since(start) >= limit {
				return s, fail(ExitLedger, "RUN_ELSEWHERE", "another run of this job is at work and did not finish in %s; nothing was drawn and nothing debited", limit)
			}
			if err := sleep(ctx, pause); err != nil {
				return s, err
			}
			pause = min(2*pause, time.Second)
			continue
		case s.Compare && b.content == nil:
			if err := b.fingerprint(ctx, t); err != nil {
				return s, sourceFailure(ctx, b.plan.job, err)
			}
			continue
		}
		return s, nil
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fail(ExitInterrupted, "INTERRUPTED", "the run was interrupted; nothing was drawn and nothing debited")
	}
}

// tidy removes the folders that killed runs of this account left behind on this host,
// wherever they are. It does what it can: nothing depends on it.
func (b *budget) tidy(ctx context.Context) {
	host, err := os.Hostname()
	if err != nil {
		return
	}
	left, err := b.ledger.Leftovers(ctx, accountOf(b.plan.job), host)
	if err != nil {
		return
	}
	for release, path := range left {
		if _, err := os.Lstat(path); err == nil && !removeUnlocked(path) {
			continue // a run is at work on it
		}
		_ = b.ledger.Forget(ctx, release)
	}
}

// end gives up the lease of a run that did not get to its seal, so that the next
// one need not wait to find that out, and keeps how it failed.
func (b *budget) end(ctx context.Context) {
	switch ctx = context.WithoutCancel(ctx); {
	case b.sealed:
	case b.failure != nil:
		_ = b.ledger.Fail(ctx, b.ticket, *b.failure) // the lease runs out by itself
	default:
		_ = b.ledger.Drop(ctx, b.ticket)
	}
}

// failed takes note of how the run failed after its debit. Where the data are to blame
// the failure is bound to them: the same job fails on them every time, or for a sample
// as soon as it is drawn as before.
func (b *budget) failed(ctx context.Context, t *openedTable, err error, blame bool) {
	var f *Failure
	if !errors.As(err, &f) {
		return
	}
	b.failure = &ledger.Failure{Exit: f.Exit, Code: f.Code, Message: f.Message}
	if !blame {
		return
	}
	if b.content != nil || b.fingerprint(context.WithoutCancel(ctx), t) == nil {
		b.failure.Content = b.contentText()
	}
}

// ledgerFailure gives an error of the ledger its exit code.
func ledgerFailure(ctx context.Context, err error) error {
	var known *ledger.Error
	var f *Failure
	switch {
	case errors.As(err, &f):
		return f
	case ctx.Err() != nil && (!errors.As(err, &known) || known.Code == ledger.CodeUnreadable):
		// A call that was cut off looks like a broken connection; a commit that was cut
		// off is LEDGER_UNKNOWN, and says so.
		return fail(ExitInterrupted, "INTERRUPTED", "the run was interrupted; nothing was drawn and nothing debited")
	case errors.As(err, &known):
		exit := ExitLedger
		switch known.Code {
		case ledger.CodeExhausted, ledger.CodeFilter, ledger.CodeKept, ledger.CodeSame:
			exit = ExitBudget
		case ledger.CodeChanged:
			exit = ExitSource
		}
		f := fail(exit, known.Code, "%s", known.Message)
		if known.Code == ledger.CodeUnknown {
			f.Spent = SpentUnknown
		}
		return f
	}
	return fail(ExitLedger, ledger.CodeUnreadable, "the ledger cannot be used")
}

// account is the state of the account around this job, for the report.
func (b *budget) account() *report.Budget {
	k := b.ticket
	out := budgetReport(&k.Account, k.Cost)
	out.Keeps = k.Account.Keeps
	out.Ledger, out.Address, out.Sequence, out.Head = k.Ledger, b.address(), k.Seq, k.Head
	return out
}

// address is where the ledger is, for the report. A path that the job names relative
// to its folder is shown so: the report is read where that folder may not be.
func (b *budget) address() string {
	named := b.plan.job.Budget.Ledger.Reveal()
	at := b.ledger.Address()
	path, ok := strings.CutPrefix(at.Full(), "sqlite:")
	if !ok || filepath.IsAbs(strings.TrimPrefix(named, "sqlite:")) {
		return at.String()
	}
	dir, err := filepath.Abs(b.plan.job.Dir)
	if err != nil {
		return at.String()
	}
	if path, err = filepath.Rel(dir, path); err != nil {
		return at.String()
	}
	return "sqlite:" + filepath.ToSlash(path)
}

// opening is a ledger that is being opened while the job is planned. One that is not
// there is made when the plan stands: a job that is refused leaves nothing behind.
type opening struct {
	done    chan struct{}
	options Options
	address ledger.Address
	ledger  *ledger.Ledger
	err     error
}

// beginBudget starts to open the ledger that a job spends from.
func beginBudget(ctx context.Context, j *job.Job, o Options) *opening {
	b := &opening{done: make(chan struct{}), options: o}
	go func() {
		defer close(b.done)
		if b.address, b.err = LedgerOf(ctx, j); b.err == nil {
			b.open(ctx, j, false)
		}
	}()
	return b
}

// missing waits, and says that there is no ledger yet.
func (o *opening) missing() bool {
	<-o.done
	var known *ledger.Error
	return o.ledger == nil && errors.As(o.err, &known) && known.Code == ledger.CodeMissing
}

func (o *opening) open(ctx context.Context, j *job.Job, create bool) {
	o.ledger, o.err = ledger.Open(ctx, o.address, ledger.Options{Create: create, By: o.options.By, LockWait: o.options.LockWait})
	if o.err == nil {
		o.err = witness(ctx, o.ledger, j)
	}
}

// close waits, and gives up a ledger that was opened.
func (o *opening) close() {
	<-o.done
	if o.ledger != nil {
		o.ledger.Close()
	}
}

// openBudget opens the ledger of a plan. Where there is none it makes the one beside the
// job, and one that the job names only where a person said so: a slip in an address must
// not begin a new budget.
func openBudget(ctx context.Context, p *Plan, t *openedTable, early *opening) (*budget, error) {
	made, named := "", p.job.Budget.Ledger.Reveal() != ""
	switch {
	case !early.missing():
	case named && !early.options.CreateLedger:
		return nil, fail(ExitLedger, ledger.CodeMissing, "%s, or run the job with --create-ledger; nothing was drawn", noLedger(p.job, early.address))
	default:
		// Where the output folder holds anything but releases, the job is refused and no
		// ledger is made for it. Releases are a matter for the ledger: see witness.
		if _, releases := storedReport(p.job.Output.Dir); !releases {
			if err := (&budget{plan: p}).free(); err != nil {
				return nil, err
			}
		}
		if early.open(ctx, p.job, true); early.err == nil {
			made = "a new ledger, and with it a new budget, was made at " + early.address.String()
			if !named {
				made += ", because the job names none"
			}
			early.options.observe(Event{Kind: "ledger", Message: made})
		}
	}
	var problems job.Problems
	switch {
	case errors.As(early.err, &problems):
		return nil, early.err
	case early.err != nil:
		return nil, ledgerFailure(ctx, early.err)
	}
	return &budget{plan: p, options: early.options, ledger: early.ledger, key: p.job.Digest(), former: p.job.FormerDigests(),
		columns: p.columnTags(early.ledger, t), made: made}, nil
}

// noLedger says that the ledger which a job names is not there, and the command that
// makes it.
func noLedger(j *job.Job, a ledger.Address) string {
	return fmt.Sprintf("there is no ledger at %s; if the address is right, make one with: dprelease ledger init %s", a, j.File)
}

// contentText is the content in the ledger's words, "" while it is not known.
func (b *budget) contentText() string {
	if b.content == nil {
		return ""
	}
	return hex.EncodeToString(b.content[:])
}

// fingerprint finds out what the data are: every stored byte of the columns that the
// job reads. It reads those that no scan has read, and decodes none of them.
func (b *budget) fingerprint(ctx context.Context, t *openedTable) error {
	key := table.Key(b.ledger.ContentKey())
	f, err := t.content.Fingerprint(ctx, key)
	if err != nil {
		return err
	}
	each, err := t.content.Columns(ctx, key)
	if err != nil {
		return err
	}
	for i, c := range b.columns {
		digest := each[c.Name]
		b.columns[i].Digest = hex.EncodeToString(digest[:])
	}
	b.content = &f
	return nil
}

// beside finds out what the data are while they are drawn from: scans take note of
// what they read, so that a first run reads the table once. stop waits for the end.
func (b *budget) beside(ctx context.Context, t *openedTable) (stop func(err error) error) {
	if b.content != nil {
		// Known from before the debit; the scans notice a change since.
		return func(err error) error { return err }
	}
	inner, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- t.content.Ahead(inner) }()
	return func(err error) error {
		if err != nil {
			cancel()
		}
		mine := <-done
		cancel()
		switch {
		case err != nil:
			return err
		case mine != nil:
			return mine
		}
		return b.fingerprint(ctx, t)
	}
}

// seal makes the bytes of the releases durable before anybody can see them.
func (b *budget) seal(ctx context.Context, files []ledger.File) error {
	b.ticket.Columns = b.columns
	if err := b.ledger.Seal(ctx, b.ticket, b.contentText(), files, b.rows...); err != nil {
		if f, ok := ledgerFailure(ctx, err).(*Failure); ok && f.Code == ledger.CodeSame {
			// Another account was charged while this run read the table.
			return fail(f.Exit, f.Code, "%s"+spentOnly, f.Message)
		}
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

// again publishes the bytes of a release that was made before.
func (b *budget) again(ctx context.Context, r *ledger.Release) (*Outcome, error) {
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
	return &Outcome{Already: true, Dir: dir, Report: rep, results: storedResults(rep, files), asked: b.plan.job.Output.Formats}, nil
}
