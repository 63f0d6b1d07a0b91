package command

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/internal/plugin/wire"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/report"
)

// About is the answer of version.
type About struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Job      int    `json:"job_language"`
	Protocol int    `json:"plugin_protocol"`
	Ledger   int    `json:"ledger"`
	Report   int    `json:"report"`
}

// About returns what is known of this program: its version, and what it was built from and for.
func (e *Environment) About() About {
	a := About{Version: "development", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Job: language.Version, Protocol: wire.Version, Ledger: ledger.Version, Report: report.Version}
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
	if e.Release != "" {
		a.Version = e.Release
	}
	return a
}

// Version is the command that prints what About says.
func (e *Environment) Version() *cobra.Command {
	c := &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this program",
		Example: "  dprelease version --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := e.About()
			return e.Say(v, "dprelease %s (job language %d, %s, %s)\n", v.Version, v.Job, v.Go, v.Platform)
		},
	}
	c.Flags().BoolVar(&e.JSON, "json", false, "print JSON")
	return c
}
