package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/data/store/address"
)

// environment holds all that the commands see of the world.
type environment struct {
	in        io.Reader
	out, errw io.Writer
	getenv    func(string) (string, bool)
	self      string // the path of this program
	jobs      jobs

	quiet, json bool
	verbose     bool          // details for people
	by          string        // who acts
	set         []string      // values of the job's variables
	lockWait    time.Duration // for a ledger that others keep locked
	unconfined  []string      // the plugins of third parties that the job runs without a sandbox
}

// execute runs one command line and returns the exit code.
func (e *environment) execute(ctx context.Context, args []string) int {
	e.out, e.errw = address.HidingOf(e.out, args), address.HidingOf(e.errw, args)
	return guard(e.errw, func() int {
		root := e.root()
		root.SetArgs(args)
		root.SetIn(e.in)
		root.SetOut(e.out)
		root.SetErr(e.errw)
		strict(root, args) // which notes where output goes
		cmd, err := root.ExecuteContextC(ctx)
		var done failed
		switch {
		case err == nil:
			return exitDone
		case errors.As(err, &done):
			return done.exit
		}
		// Every other error is cobra's: the command line itself is wrong.
		e.tell(e.errw, "dprelease: %v\nsee %s --help\n", err, cmd.CommandPath())
		fmt.Fprintln(e.errw, unspent(exitUsage, "USAGE", "").last())
		return exitUsage
	})
}

// strict has the commands that cobra adds refuse what they do not know, like all
// others: a script that writes a completion file must notice.
func strict(root *cobra.Command, args []string) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	for _, c := range root.Commands() {
		switch c.Name() {
		case "completion":
			c.Args = unknownCommand
			c.RunE = func(*cobra.Command, []string) error {
				return errors.New("a shell is missing: bash, fish, powershell or zsh")
			}
		case "help":
			show := c.Run
			c.Run, c.RunE = nil, func(c *cobra.Command, args []string) error {
				about, rest, err := root.Find(args)
				if err == nil && len(rest) > 0 {
					err = unknownCommand(about, rest)
				}
				if err == nil {
					show(c, args)
				}
				return err
			}
		}
	}
}

func (e *environment) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "dprelease",
		Short: "Differentially private releases from Parquet, Arrow and CSV tables",
		Long: `dprelease reads a job: a table, what is publicly known about it, samples to draw,
and releases to make from them. It prices the job without touching the data,
draws the samples, runs mechanisms in confined processes, adds the noise
itself, and writes the releases with a report of what they cost in privacy.`,
		Example: `  dprelease init t.csv -o job.yaml  a first job, from the names of a table's columns
  dprelease design t.csv            a job on a page in the browser, with its price and error
  dprelease check job.yaml          what is wrong with a job
  dprelease plan job.yaml           what it would cost, without reading the data
  dprelease run job.yaml            make the releases
  dprelease run --json job.yaml     one JSON line for each event, for schedulers
  dprelease ledger show job.yaml    what is left of the budget, and who spent what
  dprelease schema > job.json       completion in editors
  dprelease account 'relation: add-remove
  event: {gaussian: {sigma: 2}}
  query: {delta: 1e-6}'`,
		Version:       version().Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          unknownCommand,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetVersionTemplate("dprelease {{.Version}}\n")
	root.SetFlagErrorFunc(wrongFlag)
	root.SetHelpFunc(e.help(root.HelpFunc()))
	root.CompletionOptions.HiddenDefaultCmd = false
	root.AddCommand(e.run(), e.check(), e.plan(), e.pages(), e.publish(), e.account(), e.ledger(), e.plugins(), e.schema(), e.init(), e.design(), e.version(), e.man(), e.mechanism())
	e.complete(root)
	return root
}

// setFlag gives values to the variables of a job.
func (e *environment) setFlag(c *cobra.Command) {
	c.Flags().StringArrayVar(&e.set, "set", nil, "a variable of the job and its value, such as month=2026-10; may be given several times")
}

// outputFlags are the flags of the commands that print an answer.
func (e *environment) outputFlags(c *cobra.Command, what string) {
	c.Flags().BoolVar(&e.json, "json", false, what)
	c.Flags().BoolVarP(&e.quiet, "quiet", "q", false, "print nothing but problems")
}

// verboseFlag is the flag of the commands that say more when they are asked.
func (e *environment) verboseFlag(c *cobra.Command) {
	c.Flags().BoolVarP(&e.verbose, "verbose", "v", false, "print every draw, event and expected error")
}
