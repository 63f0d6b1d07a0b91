package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/command"
	"github.com/dprelease/dprelease/ledger"
)

// ledgerClose ends a panel: nobody can find out any more who is in which wave.
func (e *environment) ledgerClose() *cobra.Command {
	var panel, reason string
	c := &cobra.Command{
		Use:   "close [LEDGER] --dataset ID --relation R --panel NAME --reason TEXT",
		Short: "End a panel: destroy the secret by which its units were allotted to waves",
		Long: `close destroys the key of the secret that says which unit is in which wave of a panel
(method: rotation). No wave can be released any more. close prints what may still hold the
key, such as backups.`,
		Example: `  dprelease ledger close job.yaml --dataset eusilc --relation add-remove --unit household --panel panel \
    --reason "the last wave is published"`,
	}
	c.Flags().StringVar(&panel, "panel", "", "the name of the panel: that of the sample in its job")
	return e.act(c, &reason, func(ledger.Key) error {
		if panel == "" {
			return errors.New("--panel is missing")
		}
		return nil
	}, func(ctx context.Context, l *ledger.Ledger, key ledger.Key) (any, string, error) {
		kept, err := l.ClosePanel(ctx, key, panel, reason)
		return map[string]any{"event": "done", "exit": command.ExitDone, "panel": panel, "kept": kept},
			"panel " + panel + " is closed: the ledger no longer knows who is in which wave\n" + kept, err
	})
}
