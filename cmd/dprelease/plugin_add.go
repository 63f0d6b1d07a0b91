package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aead.dev/minisign"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/dprelease/dprelease/internal/data/file"
	"github.com/dprelease/dprelease/internal/plugin/catalog"
	"github.com/dprelease/dprelease/internal/plugin/catalog/artifact"
	"github.com/dprelease/dprelease/internal/plugin/conformance"
	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/internal/plugin/sandbox"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/pipeline"
	"github.com/dprelease/dprelease/report"
)

// approval is what plugin add is asked to do.
type approval struct {
	examination
	catalog, expires, by, sign, mechanism string
	selfNoising, plainHTTP                bool
	reads                                 []string
}

// passwordVariable holds the password of the key that signs, where nobody can type it.
const passwordVariable = "DPRELEASE_SIGN_PASSWORD"

func (e *environment) pluginAdd() *cobra.Command {
	var a approval
	c := &cobra.Command{
		Use:   "add (FILE | DIR | OCI)",
		Short: "Check a plugin and put it into a catalog",
		Long: `add copies a plugin into the folder of the catalog, runs plugin check on the copy in
a sandbox that must be complete, and writes an entry. A plugin that is refuted, or
whose check does not finish, gets none.

A plugin may also come as an OCI artifact, as oras pushes it: from a registry
(oci://REGISTRY/REPOSITORY:TAG or @DIGEST), or as an OCI layout with one tag, in a folder
or a tar archive. The files are held to the digests of its manifest.

A job then names the catalog, and the plugin as mechanism: NAME@VERSION. Where the
public key CATALOG.pub lies beside the catalog, a job uses it only if this key has
signed it: give its secret key with --sign, in the form of minisign.`,
		Example: `  dprelease plugin add ./trimmed-mean --catalog /etc/dprelease/catalog.json
  dprelease plugin add ./trimmed-mean --catalog catalog.json --for 5m --sign minisign.key
  dprelease plugin add oci://registry.example/plugins/trimmed-mean:1.0.0 --catalog catalog.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return e.add(c.Context(), args[0], a)
		},
	}
	f := c.Flags()
	catalogFlag(c, &a.catalog)
	f.StringVar(&a.job, "job", "", "take the requests from the releases of this job that use the plugin")
	f.DurationVar(&a.within, "for", 10*time.Minute, "how long the check may take; one that does not finish approves nothing")
	f.StringVar(&a.expires, "expires", "", "the day on which the approval ends, as 2027-12-31; a year from now where this is not given")
	f.StringVar(&a.by, "by", "", "who approves it; your login name where this is not given")
	signFlag(c, &a.sign)
	f.StringVar(&a.mechanism, "mechanism", "", "the mechanism that is approved, where the plugin has several")
	f.StringSliceVar(&a.reads, "reads", nil, "a file or folder that the plugin may read, besides the system's own")
	f.BoolVar(&a.plainHTTP, "plain-http", false, "speak to the registry without TLS")
	f.BoolVar(&a.selfNoising, "allow-self-noising", false, "approve a plugin that draws its own noise")
	a.config.Seed = 1
	f.IntVar(&a.config.Pairs, "pairs", 60, "pairs of tables to try with each request")
	f.BoolVar(&e.json, "json", false, "print JSON")
	return c
}

// catalogFlag is the flag that names a catalog, which has to be given.
func catalogFlag(c *cobra.Command, into *string) {
	c.Flags().StringVar(into, "catalog", "", "the file of the catalog")
	_ = c.MarkFlagRequired("catalog")
}

// signFlag is the flag that names the secret key of a catalog.
func signFlag(c *cobra.Command, into *string) {
	c.Flags().StringVar(into, "sign", "", "the secret key of minisign that signs the catalog; its password is asked for, or read from "+passwordVariable)
}

// uncatalogued returns the failure for a bad catalog, or for a plugin that did not get into
// it.
func (e *environment) uncatalogued(format string, args ...any) error {
	return e.failWith(unspent(pipeline.ExitPlugin, "PLUGIN_CATALOG", fmt.Sprintf(format, args...)), nil)
}

func (e *environment) add(ctx context.Context, source string, a approval) error {
	expires, err := expiry(a.expires, time.Now())
	if err != nil {
		return e.failWith(unspent(pipeline.ExitUsage, "USAGE", err.Error()), nil)
	}
	c, err := catalog.Open(a.catalog)
	if err != nil {
		return e.uncatalogued("%s: %s", a.catalog, failure.Reason(err))
	}
	signer, err := e.signer(a.sign, c)
	if err != nil {
		return e.uncatalogued("%v", err)
	}
	from, origin := source, ""
	if artifact.Is(source) {
		if from, err = os.MkdirTemp("", "dprelease-"); err != nil {
			return e.uncatalogued("%s", failure.Reason(err))
		}
		defer func() { _ = os.RemoveAll(from) }()
		if origin, err = artifact.Fetch(ctx, source, from, a.plainHTTP); err != nil {
			return e.uncatalogued("%s: %s", source, failure.Reason(err))
		}
	}
	entry, err := c.Store(from)
	if err != nil {
		return e.uncatalogued("%s: %s", source, failure.Reason(err))
	}
	entry.Source = origin
	stored := filepath.Join(c.Folder(), entry.Path)
	keep := slices.ContainsFunc(c.Plugins, func(other catalog.Entry) bool { return other.SHA256 == entry.SHA256 })
	defer func() {
		if !keep {
			_ = os.RemoveAll(filepath.Dir(stored))
		}
	}()
	for _, path := range a.reads {
		if path, err = filepath.Abs(path); err == nil {
			entry.Reads = append(entry.Reads, path)
		}
	}
	cmd := host.Command{Name: filepath.Base(source), Path: stored, SHA256: entry.SHA256, Files: entry.Beside(), Mechanism: a.mechanism,
		Confine: sandbox.Confinement{Mode: sandbox.Required, Read: entry.Reads}}
	a.report = filepath.Dir(stored)
	v, err := e.examined(ctx, cmd, a.examination)
	switch {
	case err != nil:
		return err
	case v.Refuted():
		e.tell(e.errw, "%s", v.Text())
		return e.uncatalogued("%s was refuted and is not approved", source)
	case v.Ended != "":
		return e.uncatalogued("the check of %s did not finish: %s; give it more time with --for", source, v.Ended)
	case v.SelfNoising && !a.selfNoising:
		return e.uncatalogued("%s draws noise of its own; say --allow-self-noising if you trust it", source)
	}
	describe(&entry, v)
	if program := catalog.Interpreter(stored); program != "" {
		libraries, files, err := catalog.Runtime(v.Read)
		if err != nil {
			return e.uncatalogued("%s: %s", source, failure.Reason(err))
		}
		maps.Copy(entry.Files, files)
		entry.Runtime = append(interpreterVersion(ctx, program), libraries...)
	}
	entry.By, entry.At, entry.Expires = cmp.Or(a.by, ledger.Login()), time.Now().UTC().Truncate(time.Second), expires
	c.Put(entry)
	if err = c.Write(signer); err != nil {
		return e.uncatalogued("%s: %s", a.catalog, failure.Reason(err))
	}
	keep = true
	return e.say(entry, "%s\nadded %s to %s, until %s\n", v.Text(), entry.Key(), a.catalog, entry.Expires.Format(time.DateOnly))
}

// describe fills in what the check saw.
func describe(entry *catalog.Entry, v conformance.Verdict) {
	texts := catalog.NewTexts(nil, nil)
	for _, p := range v.Plans {
		texts.Add(p.Request, p.Plan)
	}
	entry.Name, entry.Version, entry.Summary = v.About.Name, v.About.Version, v.About.Summary
	entry.SelfNoising, entry.Description = v.About.SelfNoising, catalog.Describe(v.About)
	entry.Result = report.ResultTrusted
	if v.About.DeclaresFinish {
		entry.Result = report.ResultApart
	}
	entry.Names, entry.Texts = texts.Names(), texts.Remarks()
	entry.Check = catalog.Checked{Verdict: v.Verdict, Suite: v.Suite, Seed: v.Seed, Sandbox: v.Sandbox}
}

// interpreterVersion asks an interpreter for its version, and takes its name where it gives
// none.
func interpreterVersion(ctx context.Context, program string) []string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, program, "--version")
	c.Env = []string{}
	out, err := c.Output()
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if err != nil || line == "" || len(line) > 100 {
		return []string{filepath.Base(program)}
	}
	if line[0] == 'v' { // Node says nothing more
		line = filepath.Base(program) + " " + line
	}
	return []string{line}
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

// signer is the key of minisign that signs, nil for none. It must be that of the catalog. Its password is asked for before anything else happens.
func (e *environment) signer(path string, c *catalog.Catalog) (*minisign.PrivateKey, error) {
	if path == "" {
		if c.Key() != nil {
			return nil, errors.New("the catalog takes only what its key has signed; give the key with --sign")
		}
		return nil, nil
	}
	if c.Key() == nil {
		return nil, errors.New("put the public key beside the catalog first, with .pub behind its name")
	}
	text, err := file.Read(path, catalog.MaxKey)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", path, failure.Reason(err))
	}
	var key minisign.PrivateKey
	if minisign.IsEncrypted(text) {
		password, err := e.password(path)
		if err != nil {
			return nil, err
		}
		if key, err = minisign.DecryptKey(password, text); err != nil {
			return nil, fmt.Errorf("%s: the password is not that of the key", path)
		}
	} else if err := key.UnmarshalText(text); err != nil {
		return nil, fmt.Errorf("%s: that is no secret key of minisign", path)
	}
	if public, ok := key.Public().(minisign.PublicKey); !ok || !c.Key().Equal(public) {
		return nil, fmt.Errorf("%s: that is not the key of the catalog", path)
	}
	return &key, nil
}

// password reads the password of a secret key from the environment or from the terminal.
func (e *environment) password(path string) (string, error) {
	if password, ok := e.getenv(passwordVariable); ok {
		return password, nil
	}
	e.tell(e.errw, "password of %s: ", path)
	typed, err := term.ReadPassword(int(os.Stdin.Fd()))
	if err != nil {
		return "", errors.New("the password can only be typed at a terminal; or set " + passwordVariable)
	}
	return string(typed), nil
}
