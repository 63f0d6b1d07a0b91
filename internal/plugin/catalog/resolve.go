package catalog

import (
	"fmt"
	"maps"
	"path/filepath"
	"time"

	"github.com/dprelease/dprelease/internal/say/problem"
)

// Approved returns the entry of a plugin that a job names as name@version. If a job may not use the plugin now, the error says
// why, and hint says what to do.
func (c *Catalog) Approved(name string, now time.Time) (e Entry, hint string, err error) {
	e, ok := c.Find(name)
	if !ok {
		if hint = problem.DidYouMean(name, c.Keys()); hint == "" {
			hint = "see dprelease plugin list --catalog " + c.path
		}
		return e, hint, fmt.Errorf("%s is not in the catalog", problem.Shown(name))
	}
	hint = "have it added again"
	if !now.Before(e.Expires) {
		return e, hint, fmt.Errorf("the approval of %s ended on %s", e.Key(), e.Expires.Format(time.DateOnly))
	}
	if err := e.Intact(c.Folder()); err != nil {
		return e, hint, err
	}
	return e, hint, c.Trusts(e)
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
