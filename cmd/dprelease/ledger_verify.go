package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/command"
	"github.com/dprelease/dprelease/internal/data/file"
	"github.com/dprelease/dprelease/internal/output"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/ledger"
)

func (e *environment) ledgerVerify() *cobra.Command {
	var folders []string
	var chain string
	c := &cobra.Command{
		Use:   "verify [LEDGER] [--releases DIR]...",
		Short: "Check the chain of a ledger against its tables and against releases",
		Long: `verify replays every record of a ledger and compares the result with its tables, its
stored bytes, and the releases below the folders that are named. It finds a ledger that
was cut off, edited, rolled back, or written to in two places, and releases that were
changed or have no debit. Some of this shows only against releases or an export that
lie elsewhere.
` + whichLedger,
		Example: `  dprelease ledger verify job.yaml --releases /srv/releases
  dprelease ledger verify --chain exported.jsonl`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			seen, err := output.ReadReleases(folders)
			if err != nil {
				return e.Fail(c.Context(), err)
			}
			if chain != "" {
				f, err := file.Open(chain)
				if err != nil {
					return fmt.Errorf("--chain: %s cannot be read", chain)
				}
				defer f.Close()
				v, err := ledger.ReadChain(f)
				if err != nil {
					return e.Fail(c.Context(),
						&failure.Failure{Exit: failure.ExitLedger, Code: ledger.CodeAddress, Message: "the file is not an exported ledger"})
				}
				v.Compare(seen)
				return e.verdict(v, len(seen))
			}
			return e.withLedger(c.Context(), args, ledger.Options{ReadOnly: true}, func(l *ledger.Ledger) error {
				v, err := l.Verify(c.Context(), seen)
				if err != nil {
					return err
				}
				v.Witness(e.besideOutput(args, l))
				return e.verdict(v, len(seen))
			})
		},
	}
	c.Flags().StringArrayVar(&folders, "releases", nil, "a folder below which releases stand; may be repeated")
	c.Flags().StringVar(&chain, "chain", "", "verify an exported chain instead of a ledger")
	e.OutputFlags(c, "print JSON")
	return c
}

// verdict prints what an audit found; anything at all is exit code 7.
func (e *environment) verdict(v *ledger.Auditor, releases int) error {
	head, found := v.Head(), v.Findings()
	exit := command.ExitDone
	if len(found) > 0 {
		exit = failure.ExitLedger
	}
	if !e.JSON {
		for _, f := range found {
			e.Tell(e.Errw, "dprelease: %s: %s: %s\n", findingCode(f), f.Where, f.What)
		}
	}
	var text strings.Builder
	writeActs(&text, "", v.Acts())
	if len(found) == 0 {
		fmt.Fprintf(&text, "ledger %s: %d records up to %s and %d releases agree\n", head.Ledger, head.Seq, head.Head, releases)
	}
	if err := e.Say(map[string]any{"event": "verified", "exit": exit, "ledger": head.Ledger, "records": head.Seq,
		"head": head.Head, "releases": releases, "acts": append([]ledger.Act{}, v.Acts()...),
		"findings": append([]ledger.Finding{}, found...)}, "%s", &text); err != nil {
		return err
	}
	if exit != command.ExitDone {
		return e.Ended(command.Unspent(exit, findingCode(found[0]), fmt.Sprintf("%d findings", len(found))))
	}
	return nil
}

// findingCode is the code word of a finding.
func findingCode(f ledger.Finding) string {
	return "LEDGER_" + strings.ToUpper(strings.ReplaceAll(f.Code, "-", "_"))
}

func (e *environment) ledgerExport() *cobra.Command {
	c := &cobra.Command{
		Use:   "export [LEDGER]",
		Short: "Print every record of the chain, one JSON object a line",
		Long: `export prints the chain of a ledger: everything that verify --chain needs to check
it elsewhere. It holds neither the stored bytes nor the ledger's secret.
` + whichLedger,
		Example: `  dprelease ledger export job.yaml > chain.jsonl`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return e.withLedger(c.Context(), args, ledger.Options{ReadOnly: true}, func(l *ledger.Ledger) error {
				var all []ledger.Record
				if err := l.Records(c.Context(), func(r ledger.Record) error { all = append(all, r); return nil }); err != nil {
					return err
				}
				out := json.NewEncoder(e.Out)
				for _, r := range all {
					if err := out.Encode(r); err != nil {
						return e.Printed(err)
					}
				}
				return nil
			})
		},
	}
	return c
}
