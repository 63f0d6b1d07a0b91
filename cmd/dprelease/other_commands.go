package main

import (
	"io"
	"io/fs"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/plan/account"
	"github.com/dprelease/dprelease/specs"
)

func (e *environment) account() *cobra.Command {
	var o account.Options
	c := &cobra.Command{
		Use:   "account [EXPR]",
		Short: "Ask the accountant what an event costs, without a job",
		Long: `account reads a question (relation, event and query) from the argument, a file or
standard input, and answers with the guarantee.`,
		Example: `  dprelease account 'relation: add-remove
  event: {repeat: {n: 1000, event: {poisson: {rate: 0.01, event: {gaussian: {sigma: 1}}}}}}
  query: {delta: 1e-6}'
  dprelease account --json -f question.yaml
  dprelease account --jsonl < questions.jsonl`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.Expr = args[0]
			}
			if o.JSON || o.JSONL {
				return exited(account.Run(e.in, e.out, e.errw, o))
			}
			exit := exitDone
			err := e.people(e.errw, func(errw io.Writer) error {
				return e.people(e.out, func(out io.Writer) error {
					exit = account.Run(e.in, out, errw, o)
					return nil
				})
			})
			if err != nil {
				return e.printed(err)
			}
			if exit == exitDone {
				return nil
			}
			return e.ended(unspent(exit, accountCodes[exit], ""))
		},
	}
	c.Flags().StringVarP(&o.File, "file", "f", "", "the file that holds the question; - is standard input")
	c.Flags().BoolVar(&o.JSON, "json", false, "print JSON")
	c.Flags().BoolVar(&o.JSONL, "jsonl", false, "read one question a line and answer each on a line")
	return c
}

// accountCodes are the words for the exit codes of the accountant.
var accountCodes = map[int]string{account.ExitFailed: "OUTPUT", account.ExitUsage: "USAGE", account.ExitInvalid: "INVALID_QUESTION"}

// exited returns the error of a command that knows its exit code, nil where it is done.
func exited(exit int) error {
	if exit == exitDone {
		return nil
	}
	return failed{exit}
}

const schemaSuffix = "-v1.schema.json"

// schemas are the names of the JSON Schemas that come with this program.
func schemas() []string {
	files, err := fs.Glob(specs.FS, "*"+schemaSuffix)
	if err != nil { // only a bad pattern fails
		return nil
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(f, schemaSuffix)
	}
	return files
}

func (e *environment) schema() *cobra.Command {
	return &cobra.Command{
		Use:       "schema [NAME]",
		Short:     "Print a JSON Schema: " + strings.Join(schemas(), ", "),
		Long:      "schema prints the JSON Schema of a file format; without a name, that of the job file.",
		Example:   "  dprelease schema > job.schema.json",
		ValidArgs: schemas(),
		Args: cobra.MatchAll(cobra.MaximumNArgs(1), func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return oneOf("schema", args[0], schemas())
		}),
		RunE: func(_ *cobra.Command, args []string) error {
			name := "job"
			if len(args) == 1 {
				name = args[0]
			}
			text, err := specs.FS.ReadFile(name + schemaSuffix)
			if err != nil {
				return err
			}
			_, err = e.out.Write(text)
			return e.printed(err)
		},
	}
}

// release is set by the linker: -ldflags "-X main.release=1.0.0".
var release = ""

// about is the answer of version.
type about struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Job      int    `json:"job_language"`
}

func version() about {
	a := about{Version: "development", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Job: job.Version}
	if info, ok := debug.ReadBuildInfo(); ok {
		if v := info.Main.Version; v != "" && v != "(devel)" {
			a.Version = v
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				a.Revision = s.Value
			}
		}
	}
	if release != "" {
		a.Version = release
	}
	return a
}

func (e *environment) version() *cobra.Command {
	c := &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this program",
		Example: "  dprelease version --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := version()
			return e.say(v, "dprelease %s (job language %d, %s, %s)\n", v.Version, v.Job, v.Go, v.Platform)
		},
	}
	c.Flags().BoolVar(&e.json, "json", false, "print JSON")
	return c
}
