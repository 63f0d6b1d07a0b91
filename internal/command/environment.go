package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/data/store/address"
	"github.com/dprelease/dprelease/internal/job"
)

// Environment holds all that the commands see of the world.
type Environment struct {
	In        io.Reader
	Out, Errw io.Writer
	Getenv    func(string) (string, bool)
	Self      string // the path of this program
	Release   string // of this program; "" where the build names none
	Load      func(path string, getenv func(string) (string, bool), set []string) (*job.Job, error)

	Quiet, JSON bool
	Verbose     bool     // details for people
	By          string   // who acts
	Set         []string // values of the job's variables
	JobName     string   // of the job that is at work
	RunID       string   // of its run, as in its lineage; "" where it is not run
	Unconfined  []string // the plugins of third parties that the job runs without a sandbox

	args []string // the command line
}

// OfProcess is the environment of this process.
func OfProcess(release string) *Environment {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	return &Environment{In: os.Stdin, Out: os.Stdout, Errw: os.Stderr, Getenv: os.LookupEnv, Self: self, Release: release, Load: Load}
}

// Execute runs one command line and returns the exit code.
func (e *Environment) Execute(ctx context.Context, tree func() *cobra.Command, args []string) int {
	e.Out, e.Errw, e.args = address.HidingOf(e.Out, args), address.HidingOf(e.Errw, args), args
	return guard(e.Errw, func() int {
		root := tree()
		e.prepare(root)
		cmd, err := root.ExecuteContextC(ctx)
		var done Failed
		switch {
		case err == nil:
			return ExitDone
		case errors.As(err, &done):
			return done.Exit
		}
		// Every other error is cobra's: the command line itself is wrong.
		e.Tell(e.Errw, "dprelease: %v\nsee %s --help\n", err, cmd.CommandPath())
		fmt.Fprintln(e.Errw, Unspent(ExitUsage, "USAGE", "").Last())
		return ExitUsage
	})
}

// Args returns the command line.
func (e *Environment) Args() []string { return e.args }

// prepare gives a tree of commands its command line and its manners.
func (e *Environment) prepare(root *cobra.Command) {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.Args = UnknownCommand
	root.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	root.Version = e.About().Version
	root.SetVersionTemplate("dprelease {{.Version}}\n")
	root.SetFlagErrorFunc(wrongFlag)
	root.SetHelpFunc(e.help(root.HelpFunc()))
	root.CompletionOptions.HiddenDefaultCmd = false
	root.SetArgs(e.args)
	root.SetIn(e.In)
	root.SetOut(e.Out)
	root.SetErr(e.Errw)
	e.strict(root) // which notes where output goes
}

// strict has the commands that cobra adds refuse what they do not know, like all
// others: a script that writes a completion file must notice.
func (e *Environment) strict(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(e.args...)
	for _, c := range root.Commands() {
		switch c.Name() {
		case "completion":
			c.Args = UnknownCommand
			c.RunE = func(*cobra.Command, []string) error {
				return errors.New("a shell is missing: bash, fish, powershell or zsh")
			}
		case "help":
			show := c.Run
			c.Run, c.RunE = nil, func(c *cobra.Command, args []string) error {
				about, rest, err := root.Find(args)
				if err == nil && Handed(about) {
					about.SetContext(c.Context())
					return about.RunE(about, append(rest, "--help"))
				}
				if err == nil && len(rest) > 0 {
					err = UnknownCommand(about, rest)
				}
				if err == nil {
					show(c, args)
				}
				return err
			}
		}
	}
}

// SetFlag gives values to the variables of a job.
func (e *Environment) SetFlag(c *cobra.Command) {
	c.Flags().StringArrayVar(&e.Set, "set", nil, "a variable of the job and its value, such as month=2026-10; may be given several times")
}

// OutputFlags are the flags of the commands that print an answer.
func (e *Environment) OutputFlags(c *cobra.Command, what string) {
	c.Flags().BoolVar(&e.JSON, "json", false, what)
	c.Flags().BoolVarP(&e.Quiet, "quiet", "q", false, "print nothing but problems")
}

// VerboseFlag is the flag of the commands that say more when they are asked.
func (e *Environment) VerboseFlag(c *cobra.Command) {
	c.Flags().BoolVarP(&e.Verbose, "verbose", "v", false, "print every draw, event and expected error")
}
