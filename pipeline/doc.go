// Package pipeline carries out dprelease jobs for another Go program. A job is a YAML
// file (specs/job-v1.md): it names a table, public facts about it, sampling designs, and
// what to release with which guarantee. Four verbs do the work:
//
//   - [Load] reads the file and finds what is wrong with its text.
//   - [Check] starts the mechanisms and finds what else can be known without data.
//   - [Plan] says what the job costs, what error to expect, and what is left of the budget.
//   - [Run] debits the budget, draws the samples, and publishes the releases.
//
// # A first run
//
// Load the job, and tell Run which program serves the mechanisms:
//
//	j, err := pipeline.Load("job.yaml", os.LookupEnv)
//	if err != nil {
//		return err // pipeline.Problems: each with its file, line and column
//	}
//	done, err := pipeline.Run(ctx, j, pipeline.Options{
//		Mechanisms: "/usr/local/bin/dprelease-mechanisms",
//	})
//
// The releases then stand in the folder done.Dir, with a report. Their values are in
// done.Results, and what they cost is in done.Report.
//
// # Mechanisms
//
// Mechanisms run in child processes, which get the columns that they asked for and
// nothing else. A job may name its own plugins, by path and digest: they need nothing
// here. For the built-in ones, Options.Mechanisms is a program that serves them: an installed
// dprelease-mechanisms of the version of this module, or your own. If it is your own (os.Executable), look for
// [ServeArgument] before you do anything else in main. The example of Run shows it.
//
// # What it costs
//
// Run spends before it reads: the price of the plan is debited from the job's ledger
// before the first row is read or the first random bit is drawn (P21). A job that was
// released before spends nothing: Run publishes the same files again and says so in
// Outcome.Already. Everything up to the debit, and all of Plan, works without data.
//
// # When it fails
//
// An error is [Problems], where the job has to be changed, or a [*Failure], which has a
// fixed code, says what was spent and whether to try again:
//
//	var f *pipeline.Failure
//	if errors.As(err, &f) && f.Retry == pipeline.RetryYes && f.Spent == pipeline.SpentNone {
//		// try again later
//	}
//
// After the first row has been read, an error is one of a fixed set of codes and says
// nothing about the data (P20). Where the context ended the call, the error is the
// context's: errors.Is(err, context.DeadlineExceeded). Progress goes to Options.Observer and tells nothing about
// them either (P19).
package pipeline
