package pipeline

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/plugin/catalog"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/internal/say/problem"
)

// approvedTimeout is the time that a release of a catalog's plugin may take: that of a job without
// the key timeout.
const approvedTimeout = 10 * time.Minute

// approve gives a job the plugins that its releases name as name@version. It adds them to
// the plugins of the job, so that all that follows treats them as those.
func approve(j *job.Job, now time.Time) (found job.Problems) {
	var c *catalog.Catalog
	done := map[string]bool{}
	for i, r := range j.Releases {
		if !strings.Contains(r.Mechanism, "@") || done[r.Mechanism] {
			continue
		}
		done[r.Mechanism] = true
		at := problem.Item("releases", i) + ".mechanism"
		if j.Catalog == "" {
			found = append(found, j.Problem(at, problem.Shown(r.Mechanism)+" is a plugin of a catalog, and the job names none",
				"name the catalog with the key catalog"))
			continue
		}
		if c == nil {
			var err error
			if c, err = catalog.Read(j.Catalog); err != nil {
				return append(found, j.Problem("catalog", "cannot be used: "+failure.Reason(err), "ask who looks after it"))
			}
		}
		e, hint, err := c.Approved(r.Mechanism, now)
		if err != nil {
			found = append(found, j.Problem(at, err.Error(), hint))
			continue
		}
		j.Plugins = append(j.Plugins, job.Plugin{
			Name: e.Key(), Path: filepath.Join(c.Folder(), e.Path), SHA256: e.SHA256, Files: e.Beside(), AllowSelfNoising: e.SelfNoising,
			Timeout: approvedTimeout, Reads: e.Reads, Memory: e.Memory,
			Approval: &job.Approval{Description: e.Description, Names: e.Names, Texts: e.Texts, Mechanism: e.Name},
		})
	}
	return found
}
