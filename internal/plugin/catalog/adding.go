package catalog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/dprelease/dprelease/internal/data/file"
)

// While a plugin is added, a note lies beside its folder. It names the file of the catalog, and the process that adds has locked
// it. A note that nobody has locked is of a process that was killed: the next one that adds removes the folder with it.
const noteEnd = ".adding"

var errAdding = errors.New("somebody else adds this plugin now; try again when that has ended")

// begin makes the note of a plugin, unless its folder was there before.
func (c *Catalog) begin(folder string) error {
	if _, err := os.Stat(folder); err == nil {
		if _, err := os.Stat(folder + noteEnd); err == nil { // sweep leaves only notes that are locked
			return errAdding
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(folder+noteEnd, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return errAdding
	}
	if err != nil {
		return err
	}
	if errors.Is(lock(f), syscall.EWOULDBLOCK) { // another one takes the note for a left one, and removes it
		f.Close()
		return errAdding
	}
	c.added = f
	_, err = f.WriteString(filepath.Base(c.path))
	return err
}

// Done ends what Store began. Without keep the folder goes, unless it was there before.
func (c *Catalog) Done(keep bool) {
	if c.added == nil {
		return
	}
	if !keep {
		_ = os.RemoveAll(strings.TrimSuffix(c.added.Name(), noteEnd))
	}
	_ = os.Remove(c.added.Name())
	c.added.Close()
	c.added = nil
}

// sweep removes what processes left that were killed while they added a plugin, as far as it may.
func (c *Catalog) sweep() {
	notes, _ := filepath.Glob(filepath.Join(c.Folder(), "plugins", "*"+noteEnd))
	for _, name := range notes {
		c.clear(name)
	}
}

// clear removes a note that nobody has locked, and the folder beside it where the catalog that it names has no entry for it.
func (c *Catalog) clear(name string) {
	f, err := file.Open(name)
	if err != nil {
		return // gone meanwhile
	}
	defer f.Close()
	of, err := file.Read(name, maxSize)
	if err != nil || lock(f) != nil {
		return
	}
	folder := strings.TrimSuffix(name, noteEnd)
	named, err := open(filepath.Join(c.Folder(), filepath.Base(string(of))))
	used := err == nil && slices.ContainsFunc(named.Plugins, func(e Entry) bool { return e.SHA256 == filepath.Base(folder) })
	switch {
	case used:
	case err == nil, len(of) == 0, errors.Is(err, fs.ErrNotExist):
		if os.RemoveAll(folder) != nil {
			return
		}
	default: // nobody knows what that catalog holds
		return
	}
	_ = os.Remove(name)
}
