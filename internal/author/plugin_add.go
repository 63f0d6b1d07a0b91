package author

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"aead.dev/minisign"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/dprelease/dprelease/internal/command"
	"github.com/dprelease/dprelease/internal/plugin/approve"
	"github.com/dprelease/dprelease/internal/plugin/catalog"
	"github.com/dprelease/dprelease/internal/plugin/conformance"
	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/internal/say/failure"
)

// approval holds the flags of plugin add.
type approval struct {
	approve.Approval
	examination
	expires, sign string
}

// passwordVariable holds the password of the key that signs, where nobody can type it.
const passwordVariable = "DPRELEASE_SIGN_PASSWORD"

func (e *environment) pluginAdd() *cobra.Command {
	var a approval
	c := &cobra.Command{
		Use:   "add (FILE | DIR | OCI)",
		Short: "Check a plugin and put it into a catalog",
		Long: `add copies a plugin into the folder of the catalog, runs plugin check on the copy in
a complete sandbox, and writes an entry. A plugin that is refuted, or whose check does not
finish, gets none. OCI artifacts come from a registry (oci://REGISTRY/REPOSITORY:TAG or
@DIGEST), or as an OCI layout with one tag, in a folder or a tar archive.

A job then names the catalog, and the plugin as mechanism: NAME@VERSION. Where the
public key CATALOG.pub lies beside the catalog, give its secret key with --sign.`,
		Example: `  dprelease plugin add ./trimmed-mean --catalog /etc/dprelease/catalog.json
  dprelease plugin add ./trimmed-mean --catalog catalog.json --for 5m --sign minisign.key
  dprelease plugin add oci://registry.example/plugins/trimmed-mean:1.0.0 --catalog catalog.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return e.add(c.Context(), args[0], a)
		},
	}
	f := c.Flags()
	catalogFlag(c, &a.Catalog)
	f.StringVar(&a.job, "job", "", "take the requests from the releases of this job that use the plugin")
	f.DurationVar(&a.within, "for", 10*time.Minute, "how long the check may take; one that does not finish approves nothing")
	f.StringVar(&a.expires, "expires", "", "the day on which the approval ends, as 2027-12-31; a year from now where this is not given")
	f.StringVar(&a.By, "by", "", "who approves it; your login name where this is not given")
	signFlag(c, &a.sign)
	f.StringVar(&a.Mechanism, "mechanism", "", "the mechanism that is approved, where the plugin has several")
	f.StringSliceVar(&a.Reads, "reads", nil, "a file or folder that the plugin may read, besides the system's own")
	f.BoolVar(&a.SelfNoising, "allow-self-noising", false, "approve a plugin that draws its own noise")
	a.config.Seed = 1
	f.IntVar(&a.config.Pairs, "pairs", 60, "pairs of tables to try with each request")
	f.BoolVar(&e.JSON, "json", false, "print JSON")
	return c
}

// catalogFlag is the flag that names a catalog, which has to be given.
func catalogFlag(c *cobra.Command, into *string) {
	c.Flags().StringVar(into, "catalog", "", "the file of the catalog")
	_ = c.MarkFlagRequired("catalog")
}

// signFlag is the flag that names the secret key of a catalog.
func signFlag(c *cobra.Command, into *string) {
	c.Flags().StringVar(into, "sign", "", "the secret key of minisign; its password is asked for, or in "+passwordVariable)
}

// uncatalogued returns the failure for a bad catalog, or for a plugin that did not get into
// it.
func (e *environment) uncatalogued(format string, args ...any) error {
	return e.FailWith(command.Unspent(failure.ExitPlugin, "PLUGIN_CATALOG", fmt.Sprintf(format, args...)), nil)
}

func (e *environment) add(ctx context.Context, source string, a approval) error {
	expires, err := expiry(a.expires, time.Now())
	if err != nil {
		return e.FailWith(command.Unspent(failure.ExitUsage, "USAGE", err.Error()), nil)
	}
	a.Source, a.Expires = source, expires
	a.Sign = func(c *catalog.Catalog) (*minisign.PrivateKey, error) { return approve.Key(a.sign, c, e.password) }
	a.Check = func(ctx context.Context, c host.Command, folder string) (conformance.Verdict, error) {
		a.report = folder
		return e.examined(ctx, c, a.examination)
	}
	entry, v, err := a.Add(ctx)
	var unchecked approve.Unchecked
	switch {
	case errors.As(err, &unchecked):
		return unchecked.Err // it was told
	case err != nil && v.Report != nil && v.Refuted():
		e.Tell(e.Errw, "%s", v.Text())
		fallthrough
	case err != nil:
		return e.uncatalogued("%v", err)
	}
	return e.Say(entry, "%s\nadded %s to %s, until %s\n", v.Text(), entry.Key(), a.Catalog, entry.Expires.Format(time.DateOnly))
}

// expiry is the end of an approval.
func expiry(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return now.UTC().AddDate(1, 0, 0).Truncate(time.Second), nil
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil || !day.After(now) {
		return day, errors.New("--expires must be a day to come, as 2027-12-31")
	}
	return day, nil
}

// password reads the password of a secret key from the environment or from the terminal.
func (e *environment) password(path string) (string, error) {
	if password, ok := e.Getenv(passwordVariable); ok {
		return password, nil
	}
	e.Tell(e.Errw, "password of %s: ", path)
	typed, err := term.ReadPassword(int(os.Stdin.Fd()))
	if err != nil {
		return "", errors.New("the password can only be typed at a terminal; or set " + passwordVariable)
	}
	return string(typed), nil
}
