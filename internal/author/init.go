package author

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/command"
	"github.com/dprelease/dprelease/internal/design/draft"
	"github.com/dprelease/dprelease/internal/job/language"
)

func (e *environment) init() *cobra.Command {
	var out, delimiter string
	s := draft.Source{Folder: "."}
	c := &cobra.Command{
		Use:   "init TABLE",
		Short: "Write a first job for a table, from its schema",
		Long: `init writes a job with the columns of a table and their types, and a comment at each
place where you have to decide something. It reads no value, and of a CSV file the header
alone, where it finds the delimiter and the encoding.`,
		Example: `  dprelease init people.parquet -o job.yaml
  dprelease init 'trips/*.csv.gz' --delimiter ';' -o job.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if delimiter != "" {
				var err error
				if s.Delimiter, err = language.ParseDelimiter(delimiter); err != nil {
					return fmt.Errorf("--delimiter: %w", err)
				}
			}
			if s.Path = args[0]; out != "" {
				s.Folder = filepath.Dir(out)
			}
			return e.draft(c.Context(), s, out)
		},
	}
	f := c.Flags()
	f.StringVarP(&out, "output", "o", "", "the job file to write; without it the job goes to standard output")
	f.StringVar(&delimiter, "delimiter", "", `what stands between two fields of a CSV file: ",", ";", "|" or tab; without it the header tells`)
	return c
}

// draft writes a first job to a new file, or prints it.
func (e *environment) draft(ctx context.Context, s draft.Source, out string) error {
	text, err := draft.Write(ctx, s)
	if err != nil {
		return e.Fail(ctx, err)
	}
	if out == "" {
		_, err := e.Out.Write(text)
		return e.Printed(err)
	}
	f, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("-o: %s is there already", out)
	}
	if err == nil {
		_, err = f.Write(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return e.FailWith(command.Unspent(command.ExitBug, "OUTPUT", out+" cannot be written"), nil)
	}
	return e.Say(nil, "%s: fill in the lines with FILL IN; dprelease check %s lists what is left\n", out, out)
}
