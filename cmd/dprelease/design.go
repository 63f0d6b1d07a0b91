package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/data/companion"
)

// designer is the companion that serves the page. It reads headers of private tables, so it stands beside this program only.
const designer = "dprelease-design"

func (e *environment) design() *cobra.Command {
	c := &cobra.Command{
		Use:   "design [TABLE | JOB]",
		Short: "Design a job on a page in the browser",
		Long: `design serves a page on this machine alone and prints its address. The page reads the
names and types of the columns and no value; of a CSV file it reads the first line when you
say that it is one. Nothing is run or spent. With a TABLE it writes a new job, called like
the table, into this folder when you save; with a JOB it changes that file.`,
		Example: `  dprelease design people.csv
  dprelease design job.yaml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			path := companion.Trusted(e.self, designer)
			if path == "" {
				return fmt.Errorf("the program %s is missing: it belongs in the folder of dprelease", designer)
			}
			var all []string
			for _, s := range e.set {
				all = append(all, "--set", s)
			}
			return exited(e.hand(c.Context(), path, append(append(all, "--"), args...), e.out))
		},
	}
	e.setFlag(c)
	return c
}
