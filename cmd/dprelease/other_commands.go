package main

import (
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/command"
	"github.com/dprelease/dprelease/specs"
)

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
			return command.OneOf("schema", args[0], schemas())
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
			_, err = e.Out.Write(text)
			return e.Printed(err)
		},
	}
}
