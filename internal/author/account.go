package author

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/command"
	"github.com/dprelease/dprelease/internal/plan/account"
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
				return command.Exited(account.Run(e.In, e.Out, e.Errw, o))
			}
			exit := command.ExitDone
			err := e.People(e.Errw, func(errw io.Writer) error {
				return e.People(e.Out, func(out io.Writer) error {
					exit = account.Run(e.In, out, errw, o)
					return nil
				})
			})
			if err != nil {
				return e.Printed(err)
			}
			if exit == command.ExitDone {
				return nil
			}
			return e.Ended(command.Unspent(exit, accountCodes[exit], ""))
		},
	}
	c.Flags().StringVarP(&o.File, "file", "f", "", "the file that holds the question; - is standard input")
	c.Flags().BoolVar(&o.JSON, "json", false, "print JSON")
	c.Flags().BoolVar(&o.JSONL, "jsonl", false, "read one question a line and answer each on a line")
	return c
}

// accountCodes are the words for the exit codes of the accountant.
var accountCodes = map[int]string{account.ExitFailed: "OUTPUT", account.ExitUsage: "USAGE", account.ExitInvalid: "INVALID_QUESTION"}
