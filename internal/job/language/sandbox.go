package language

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/data/file"
	"github.com/dprelease/dprelease/internal/job"
)

// Sandboxes are the ways in which a job can have its mechanisms confined.
var Sandboxes = []string{"required", "best", "off"}

// Unconfined returns the plugins of third parties that the job runs without a sandbox.
func Unconfined(j *job.Job) []string {
	var out []string
	for _, r := range j.Releases {
		if _, ok := j.Plugin(r.Mechanism); ok && j.Sandbox == "off" && !slices.Contains(out, r.Mechanism) {
			out = append(out, r.Mechanism)
		}
	}
	return out
}

// grants finds folders that a plugin may read although they hold, or lie in, what no
// mechanism may see.
func (k *checker) grants() {
	for _, p := range k.j.Plugins {
		for i, path := range p.Reads {
			for _, private := range privateIn(k.j) {
				if private.holds(path) {
					k.wrong(job.Item(job.Key("plugins", p.Name)+".reads", i), "put what the plugin reads into a folder of its own",
						"lets the plugin read %s", private.what)
				}
			}
		}
	}
}

// secluded is a place that no mechanism may read: a file, a folder, or those that a pattern matches.
type secluded struct{ what, path string }

// private are the places that no mechanism may read.
func privateIn(j *job.Job) []secluded {
	ledger := "dprelease.db"
	if path, ok := strings.CutPrefix(j.Budget.Ledger.Reveal(), "sqlite:"); ok {
		ledger = strings.TrimPrefix(path, "//")
	}
	if !filepath.IsAbs(ledger) {
		ledger = filepath.Join(j.Dir, ledger)
	}
	all := []secluded{{"the table", j.Dataset.Source.Path}, {"the ledger", ledger}, {"the releases", j.Output.Dir}}
	for _, t := range j.Dataset.Tables {
		all = append(all, secluded{"the table " + t.Name, t.Source.Path})
	}
	return all
}

// holds reports whether a path lies in the place, or the place in it, with links followed as
// far as they lead anywhere.
func (s secluded) holds(path string) bool {
	if s.path == "" || path == "" {
		return false
	}
	if place, path := file.Real(s.path), file.Real(path); file.Within(path, place) || file.Within(place, path) {
		return true
	}
	names := strings.Split(filepath.ToSlash(s.path), "/")
	pattern := slices.IndexFunc(names, func(name string) bool { return strings.ContainsAny(name, "*?[") })
	if pattern < 0 {
		return false
	}
	rel, err := filepath.Rel(file.Real(filepath.Dir(strings.Join(names[:pattern+1], "/"))), file.Real(path))
	if err != nil || !filepath.IsLocal(rel) {
		return false
	}
	for i, name := range strings.Split(filepath.ToSlash(rel), "/") {
		if pattern+i == len(names) || names[pattern+i] == "**" {
			break // the pattern matches a folder, and all that lies in it is read
		}
		if match, err := filepath.Match(names[pattern+i], name); err == nil && !match {
			return false
		}
	}
	return true
}
