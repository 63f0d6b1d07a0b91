package author

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"aead.dev/minisign"
	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/command"
	"github.com/dprelease/dprelease/internal/plugin/approve"
	"github.com/dprelease/dprelease/internal/plugin/catalog"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/report"
)

// catalogued is one line of plugin list --catalog.
type catalogued struct {
	Plugin  string    `json:"plugin"`
	Summary string    `json:"summary"`
	SHA256  string    `json:"sha256"`
	By      string    `json:"approved_by"`
	At      time.Time `json:"approved_at"`
	Expires time.Time `json:"expires"`
	Signed  bool      `json:"signed"`
	Result  string    `json:"result,omitempty"`
}

func (e *environment) listCatalog(path string, signed bool) error {
	c, err := catalog.Read(path)
	if err != nil {
		return e.uncatalogued("%s: %s", path, failure.Reason(err))
	}
	if signed {
		text, err := c.Signed()
		if err != nil {
			return e.uncatalogued("%s", failure.Reason(err))
		}
		return e.Printed(e.Tell(e.Out, "%s", text))
	}
	all := []catalogued{}
	var text strings.Builder
	for _, x := range c.Plugins {
		all = append(all, catalogued{x.Key(), x.Summary, x.SHA256, x.By, x.At, x.Expires, c.Signature != "", x.Result})
		fmt.Fprintf(&text, "%-28s %s\n%-28s approved by %s until %s\n", x.Key(), x.Summary, "", x.By, x.Expires.Format(time.DateOnly))
		if x.Result == report.ResultTrusted {
			fmt.Fprintf(&text, "%-28s its results are trusted: it sees rows and writes them\n", "")
		}
	}
	if len(all) == 0 {
		text.WriteString("the catalog is empty\n")
	}
	return e.Say(all, "%s", text.String())
}

// entryCommand is a command about one entry of a catalog.
func (e *environment) entryCommand(use, short, long string, run func(c *catalog.Catalog, x catalog.Entry) error) *cobra.Command {
	var path string
	c := &cobra.Command{
		Use: use + " NAME[@VERSION]", Short: short, Long: long, Args: cobra.ExactArgs(1),
		Example: "  dprelease plugin " + use + " trimmed-mean@1.2.0 --catalog /etc/dprelease/catalog.json",
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := catalog.Open(path)
			if err != nil {
				return e.uncatalogued("%s: %s", path, failure.Reason(err))
			}
			x, ok := c.Find(args[0])
			if !ok {
				x, ok = c.Only(args[0])
			}
			if !ok {
				if slices.ContainsFunc(c.Keys(), func(key string) bool { return strings.HasPrefix(key, args[0]+"@") }) {
					return e.uncatalogued("%s holds several versions of %s: name one of them, as NAME@VERSION", path, args[0])
				}
				return e.uncatalogued("%s holds no plugin %s%s", path, args[0], command.DidYouMean("", args[0], c.Keys()))
			}
			return run(c, x)
		},
	}
	catalogFlag(c, &path)
	c.Flags().BoolVar(&e.JSON, "json", false, "print JSON")
	return c
}

func (e *environment) pluginShow() *cobra.Command {
	return e.entryCommand("show", "Print the entry of a plugin in a catalog", "",
		func(_ *catalog.Catalog, x catalog.Entry) error {
			text, err := json.MarshalIndent(x, "", "  ")
			if err != nil {
				return err
			}
			return e.Say(x, "%s\n", text)
		})
}

func (e *environment) pluginRemove() *cobra.Command {
	sign := ""
	c := e.entryCommand("remove", "Take a plugin out of a catalog",
		`remove takes an entry out: jobs can no longer name it. Its files stay, because other
entries may use them.`,
		func(c *catalog.Catalog, x catalog.Entry) error {
			signer, err := approve.Key(sign, c, e.password)
			if err != nil {
				return e.uncatalogued("%v", err)
			}
			c.Remove(x.Key())
			if err := c.Write(signer); err != nil {
				return e.uncatalogued("%s", failure.Reason(err))
			}
			return e.Say(map[string]string{"event": "removed", "plugin": x.Key()}, "removed %s\n", x.Key())
		})
	signFlag(c, &sign)
	return c
}

func (e *environment) pluginSign() *cobra.Command {
	var path, key string
	c := &cobra.Command{
		Use:   "sign",
		Short: "Sign a catalog for the first time",
		Long: `sign signs a catalog that nobody has signed yet. Put the public key beside it first, as
CATALOG.pub. From then on jobs use the catalog only as that key has signed it, and add and
remove want the secret key.`,
		Example: "  dprelease plugin sign --catalog /etc/dprelease/catalog.json --sign minisign.key",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			c, err := catalog.Adopt(path)
			if err != nil {
				return e.uncatalogued("%s: %s", path, failure.Reason(err))
			}
			signer, err := approve.Key(key, c, e.password)
			if err != nil {
				return e.uncatalogued("%v", err)
			}
			if err := c.Write(signer); err != nil {
				return e.uncatalogued("%s: %s", path, failure.Reason(err))
			}
			return e.Say(map[string]any{"event": "signed", "serial": c.Serial}, "signed %s\n", path)
		},
	}
	catalogFlag(c, &path)
	signFlag(c, &key)
	_ = c.MarkFlagRequired("sign")
	c.Flags().BoolVar(&e.JSON, "json", false, "print JSON")
	return c
}

// verified is the answer of plugin verify for one entry.
type verified struct {
	Plugin string `json:"plugin"`
	Wrong  string `json:"wrong,omitempty"`
}

func (e *environment) pluginVerify() *cobra.Command {
	var path, key string
	c := &cobra.Command{
		Use:   "verify",
		Short: "Verify a catalog: who may change it, its files, signatures and dates",
		Long: `verify checks that nobody but you or root can change the catalog, that the files of
each plugin are those that were approved, that no approval has ended, and that the key
CATALOG.pub, or that of --key, has signed it. It needs no network.`,
		Example: "  dprelease plugin verify --catalog /etc/dprelease/catalog.json --key approvals.pub",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			c, err := catalog.Read(path)
			if err != nil {
				return e.uncatalogued("%s: %s", path, failure.Reason(err))
			}
			with := c.Key()
			if key != "" {
				read, err := catalog.ReadKey(key)
				if err != nil {
					return e.uncatalogued("%s: that is no public key of minisign", key)
				}
				with = &read
			}
			return e.verify(c, with)
		},
	}
	catalogFlag(c, &path)
	c.Flags().StringVar(&key, "key", "", "the public key of minisign that must have signed the catalog")
	c.Flags().BoolVar(&e.JSON, "json", false, "print JSON")
	return c
}

func (e *environment) verify(c *catalog.Catalog, key *minisign.PublicKey) error {
	if key != nil {
		if err := c.Verify(*key); err != nil {
			return e.uncatalogued("%v", err)
		}
	}
	all, bad := []verified{}, 0
	var text strings.Builder
	for _, x := range c.Plugins {
		err := errors.Join(x.Intact(c.Folder()), c.Trusts(x))
		if !time.Now().Before(x.Expires) {
			err = errors.Join(err, fmt.Errorf("the approval ended on %s", x.Expires.Format(time.DateOnly)))
		}
		v, word := verified{Plugin: x.Key()}, "as approved"
		if err != nil {
			v.Wrong, bad = strings.ReplaceAll(err.Error(), "\n", "; "), bad+1
			word = v.Wrong
		}
		all = append(all, v)
		fmt.Fprintf(&text, "%-28s %s\n", v.Plugin, word)
	}
	if err := e.Say(all, "%s", text.String()); err != nil {
		return err
	}
	if bad > 0 {
		return e.uncatalogued("%d of %d plugins are not as they were approved", bad, len(all))
	}
	return nil
}
