package author

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/command"
)

// plugins are the commands for those who write or choose mechanisms.
func (e *environment) plugins() *cobra.Command {
	c := &cobra.Command{
		Use:   "plugin",
		Short: "Write, check and list mechanisms",
		Args:  command.UnknownCommand,
		RunE:  command.CommandMissing,
	}
	c.AddCommand(e.pluginAdd(), e.pluginCheck(), e.pluginList(), e.pluginNew(), e.pluginRemove(), e.pluginShow(), e.pluginSign(),
		e.pluginVerify())
	return c
}

// listed is one line of plugin list.
type listed struct {
	Name        string   `json:"name"`
	Version     string   `json:"version"`
	Summary     string   `json:"summary"`
	Relations   []string `json:"relations"`
	Designs     []string `json:"designs"`
	SelfNoising bool     `json:"self_noising"`
	Weighted    bool     `json:"weighted"`  // uses the weights of a survey
	Intervals   bool     `json:"intervals"` // gives intervals for the population's values
}

func (e *environment) pluginList() *cobra.Command {
	var path string
	var signed bool
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the mechanisms that come with this program, or those of a catalog",
		Example: "  dprelease plugin list --json\n  dprelease plugin list --catalog /etc/dprelease/catalog.json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if path != "" {
				return e.listCatalog(path, signed)
			}
			var text strings.Builder
			all := []listed{}
			for _, d := range command.DescribeBuiltins() {
				l := listed{Name: d.Name, Version: d.Version, Summary: d.Summary, Designs: d.Designs, SelfNoising: d.SelfNoising,
					Weighted: d.Weighted, Intervals: d.Takes("interval")}
				for _, r := range d.Relations {
					l.Relations = append(l.Relations, r.String())
				}
				all = append(all, l)
				also := ""
				if l.Weighted {
					also += "; weights of a survey"
				}
				if l.Intervals {
					also += "; intervals"
				}
				fmt.Fprintf(&text, "%-20s %-8s %s\n%-29s relations: %s; samples: %s%s\n", l.Name, l.Version, l.Summary, "",
					strings.Join(l.Relations, ", "), strings.Join(l.Designs, ", "), also)
			}
			return e.Say(all, "%s", text.String())
		},
	}
	c.Flags().BoolVar(&e.JSON, "json", false, "print JSON")
	c.Flags().StringVar(&path, "catalog", "", "list the plugins of this catalog")
	c.Flags().BoolVar(&signed, "signed", false, "print exactly the bytes of the catalog that are signed")
	return c
}
