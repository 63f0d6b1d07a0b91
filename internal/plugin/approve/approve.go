package approve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"aead.dev/minisign"

	"github.com/dprelease/dprelease/internal/plugin/catalog"
	"github.com/dprelease/dprelease/internal/plugin/catalog/artifact"
	"github.com/dprelease/dprelease/internal/plugin/conformance"
	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/internal/plugin/sandbox"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/report"
)

// Approval is an order to approve a plugin.
type Approval struct {
	Source    string // a file, a folder, or an artifact of a registry
	Catalog   string // the file of the catalog
	Mechanism string // the one that is approved, where the plugin has several
	Reads     []string
	// SelfNoising approves a plugin that draws its own noise.
	SelfNoising bool
	By          string // "" is the login name
	Expires     time.Time
	// Sign returns the key that signs the catalog, nil for none.
	Sign func(*catalog.Catalog) (*minisign.PrivateKey, error)
	// Check runs the suite on the copy in the catalog's folder, and writes its report into folder.
	Check func(ctx context.Context, c host.Command, folder string) (conformance.Verdict, error)

	_ struct{}
}

// Unchecked is the error of Approval.Check.
type Unchecked struct{ Err error }

// Error returns the text of the error.
func (u Unchecked) Error() string { return u.Err.Error() }

// Unwrap returns the error.
func (u Unchecked) Unwrap() error { return u.Err }

// Add checks the plugin and writes its entry. The verdict is there also where the plugin is refuted.
func (a Approval) Add(ctx context.Context) (entry catalog.Entry, v conformance.Verdict, err error) {
	said := func(what string, err error) error { return fmt.Errorf("%s: %s", what, failure.Reason(err)) }
	c, err := catalog.Open(a.Catalog)
	if err != nil {
		return entry, v, said(a.Catalog, err)
	}
	signer, err := a.Sign(c)
	if err != nil {
		return entry, v, err
	}
	from, origin := a.Source, ""
	if artifact.Is(a.Source) {
		if from, err = os.MkdirTemp("", "dprelease-"); err != nil {
			return entry, v, errors.New(failure.Reason(err))
		}
		defer func() { _ = os.RemoveAll(from) }()
		if origin, err = artifact.Fetch(ctx, a.Source, from); err != nil {
			return entry, v, said(a.Source, err)
		}
	}
	if entry, err = c.Store(from); err != nil {
		return entry, v, said(a.Source, err)
	}
	entry.Source = origin
	stored := filepath.Join(c.Folder(), entry.Path)
	keep := false
	defer func() { c.Done(keep) }()
	for _, path := range a.Reads {
		if path, err = filepath.Abs(path); err == nil {
			entry.Reads = append(entry.Reads, path)
		}
	}
	if v, err = a.try(ctx, stored, entry); err != nil {
		return entry, v, err
	}
	describe(&entry, v)
	if program := catalog.Interpreter(stored); program != "" {
		libraries, files, err := catalog.Runtime(v.Read)
		if err != nil {
			return entry, v, said(a.Source, err)
		}
		maps.Copy(entry.Files, files)
		entry.Runtime = append(InterpreterVersion(ctx, program), libraries...)
	}
	entry.By, entry.At, entry.Expires = cmp.Or(a.By, ledger.Login()), time.Now().UTC().Truncate(time.Second), a.Expires
	c.Put(entry)
	if err = c.Write(signer); err != nil {
		return entry, v, said(a.Catalog, err)
	}
	keep = true
	return entry, v, nil
}

// try runs the suite on the stored copy, and refuses what must not be approved.
func (a Approval) try(ctx context.Context, stored string, entry catalog.Entry) (conformance.Verdict, error) {
	v, err := a.Check(ctx,
		host.Command{Name: filepath.Base(a.Source), Path: stored, SHA256: entry.SHA256, Files: entry.Beside(), Mechanism: a.Mechanism,
			Confine: sandbox.Confinement{Mode: sandbox.Required, Read: entry.Reads}}, filepath.Dir(stored))
	switch {
	case err != nil:
		return v, Unchecked{err}
	case v.Refuted():
		return v, fmt.Errorf("%s was refuted and is not approved", a.Source)
	case v.Ended != "":
		return v, fmt.Errorf("the check of %s did not finish: %s; give it more time with --for", a.Source, v.Ended)
	case v.SelfNoising && !a.SelfNoising:
		return v, fmt.Errorf("%s draws noise of its own; say --allow-self-noising if you trust it", a.Source)
	}
	return v, nil
}

// describe fills in what the check saw.
func describe(entry *catalog.Entry, v conformance.Verdict) {
	texts := catalog.NewTexts(nil, nil)
	for _, p := range v.Plans {
		texts.Add(p.Request, p.Plan)
	}
	entry.Name, entry.Version, entry.Summary = v.About.Name, v.About.Version, v.About.Summary
	entry.SelfNoising, entry.Description = v.About.SelfNoising, catalog.Describe(v.About)
	switch entry.Result = report.ResultTrusted; {
	case v.About.DeclaresQuery:
		entry.Result = report.ResultEnforced
	case v.About.DeclaresFinish:
		entry.Result = report.ResultApart
	}
	entry.Names, entry.Texts = texts.Names(), texts.Remarks()
	entry.Check = catalog.Checked{Verdict: v.Verdict, Suite: v.Suite, Seed: v.Seed, Sandbox: v.Sandbox}
}

// InterpreterVersion asks an interpreter for its version, and takes its name where it gives
// none.
func InterpreterVersion(ctx context.Context, program string) []string {
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
