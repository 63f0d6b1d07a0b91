package catalog

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"time"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/lang"
	"github.com/dprelease/dprelease/internal/say/failure"
)

// releaseTimeout is the time that a release of a catalog's plugin may take: that of a job without
// the key timeout.
const releaseTimeout = 10 * time.Minute

// Resolve gives a job the plugins that its releases name as name@version. It adds them to
// the plugins of the job, so that all that follows treats them as those.
func Resolve(j *job.Job, now time.Time) job.Problems {
	var found job.Problems
	wrong := func(path, hint, format string, args ...any) {
		found = append(found, j.Problem(path, fmt.Sprintf(format, args...), hint))
	}
	var c *Catalog
	done := map[string]bool{}
	for i, r := range j.Releases {
		if !strings.Contains(r.Mechanism, "@") || done[r.Mechanism] {
			continue
		}
		done[r.Mechanism] = true
		at := lang.Item("releases", i) + ".mechanism"
		if j.Catalog == "" {
			wrong(at, "name the catalog with the key catalog", "%s is a plugin of a catalog, and the job names none", lang.Shown(r.Mechanism))
			continue
		}
		if c == nil {
			var err error
			if c, err = Read(j.Catalog); err != nil {
				wrong("catalog", "ask who looks after it", "cannot be used: %s", failure.Reason(err))
				return found
			}
		}
		e, ok := c.Find(r.Mechanism)
		if !ok {
			hint := lang.DidYouMean(r.Mechanism, c.Keys())
			if hint == "" {
				hint = "see dprelease plugin list --catalog " + j.Catalog
			}
			wrong(at, hint, "%s is not in the catalog", lang.Shown(r.Mechanism))
			continue
		}
		if err := c.usable(e, now); err != nil {
			wrong(at, "have it added again", "%s", err)
			continue
		}
		j.Plugins = append(j.Plugins, job.Plugin{
			Name: e.Key(), Path: filepath.Join(c.Folder(), e.Path), SHA256: e.SHA256, Files: e.Beside(), AllowSelfNoising: e.SelfNoising,
			Timeout: releaseTimeout, Reads: e.Reads, Memory: e.Memory,
			Approval: &job.Approval{Description: e.Description, Names: e.Names, Texts: e.Texts, Mechanism: e.Name},
		})
	}
	return found
}

// usable returns an error unless a job may use the entry now.
func (c *Catalog) usable(e Entry, now time.Time) error {
	if !now.Before(e.Expires) {
		return fmt.Errorf("the approval of %s ended on %s", e.Key(), e.Expires.Format(time.DateOnly))
	}
	if err := e.Intact(c.Folder()); err != nil {
		return err
	}
	return c.Trusts(e)
}

// Trusts returns an error if anybody but root and this user can change a file of the entry, or a
// folder on the way to it.
func (c *Catalog) Trusts(e Entry) error {
	known := map[string]bool{}
	for name := range maps.Keys(e.Beside()) {
		if err := trusted(filepath.Join(c.Folder(), filepath.Dir(e.Path), name), known); err != nil {
			return err
		}
	}
	return trusted(filepath.Join(c.Folder(), e.Path), known)
}
