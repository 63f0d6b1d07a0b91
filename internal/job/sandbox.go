package job

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/dprelease/dprelease/internal/lang"
)

// Sandboxes are the ways in which a job can have its mechanisms confined.
var Sandboxes = []string{"required", "best", "off"}

// grants finds folders that a plugin may read although they hold, or lie in, what no
// mechanism may see.
func (k *checker) grants() {
	for _, p := range k.j.Plugins {
		for i, path := range p.Reads {
			for _, private := range k.j.private() {
				if overlap(path, private.path) {
					k.wrong(lang.Item(lang.Key("plugins", p.Name)+".reads", i), "put what the plugin reads into a folder of its own",
						"gives the plugin %s to read", private.what)
				}
			}
		}
	}
}

// private are the places that no mechanism may read.
func (j *Job) private() []struct{ what, path string } {
	ledger := "dprelease.db"
	if path, ok := strings.CutPrefix(j.Budget.Ledger.Reveal(), "sqlite:"); ok {
		ledger = strings.TrimPrefix(path, "//")
	}
	if !filepath.IsAbs(ledger) {
		ledger = filepath.Join(j.Dir, ledger)
	}
	source, _, _ := strings.Cut(j.Dataset.Source.Path, "*")
	return []struct{ what, path string }{{"the table", source}, {"the ledger", ledger}, {"the releases", j.Output.Dir}}
}

// overlap reports whether one of two paths lies in the other, with links followed as far
// as they lead anywhere.
func overlap(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	a, b = real(a), real(b)
	return within(a, b) || within(b, a)
}

// real is an absolute path without links; what is not there yet stays as it is named.
func real(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	rest := ""
	for at := path; ; at = filepath.Dir(at) {
		if found, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(found, rest)
		}
		if at == filepath.Dir(at) || at == string(os.PathSeparator) {
			return path
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}

func within(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}
