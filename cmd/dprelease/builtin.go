package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/pipeline"
)

// mechanism is the hidden command that serves the built-in mechanisms to a host. It
// gets here only where it is wrong: command.Serving answers for the rest.
func (e *environment) mechanism() *cobra.Command {
	return &cobra.Command{
		Use:    pipeline.ServeArgument,
		Hidden: true,
		RunE: func(*cobra.Command, []string) error {
			return errors.New("this command is for the program itself")
		},
	}
}
