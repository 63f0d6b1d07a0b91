package pipeline

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/dprelease/dprelease/ledger"
)

// folder is an output folder in the making: built under another name beside its
// place, made durable, and renamed into place. It appears whole or not at all.
//
// A folder that a killed run left behind is removed by the next one: its lock is
// free.
type folder struct {
	final, temp string
	lock        *os.File
	disk        disk
	files       []ledger.File // what it will hold
}

// outputState says what stands at the place of an output folder.
type outputState int

const (
	outputFree outputState = iota
	outputTaken
)

// inspectOutput looks whether a folder may be published at dir: nothing stands there,
// or an empty folder that a folder can take the place of. Anything else would be
// found out after the budget is spent.
func inspectOutput(dir string) (outputState, error) {
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return outputFree, nil
	case errors.Is(err, syscall.ENOTDIR):
		return outputTaken, nil
	case err != nil:
		return outputTaken, err
	case !info.IsDir(), mounted(dir, info):
		return outputTaken, nil
	}
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) == 0 {
		return outputFree, nil
	}
	return outputTaken, err
}

// irreplaceable says what stands in the place of an output folder that is no folder,
// or not one that another can take the place of.
func irreplaceable(dir string) string {
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return ""
	case info.Mode()&fs.ModeSymlink != 0:
		return "a symbolic link"
	case !info.IsDir():
		return "a file"
	case mounted(dir, info):
		return "the root of a mounted file system"
	}
	return ""
}

// mounted says that another file system begins at a folder, as where a container is
// given one for its output: it can be filled, but not replaced.
func mounted(dir string, info fs.FileInfo) bool {
	parent, err := os.Stat(filepath.Dir(dir))
	if err != nil {
		return false
	}
	here, ok := info.Sys().(*syscall.Stat_t)
	above, also := parent.Sys().(*syscall.Stat_t)
	return ok && also && here.Dev != above.Dev
}

// partial stands in the name of a folder in the making, before a number.
const partial = ".partial-"

// unlocked begins the name of such a folder until it is locked, which takes a moment.
const unlocked = ".dprelease-new-"

// unpublished says that a folder was never put in its place: a run is at work on it,
// or was killed there. Nothing in it is a release.
func unpublished(name string) bool {
	number, ok := strings.CutPrefix(name, unlocked)
	if i := strings.LastIndex(name, partial); !ok && i >= 0 && strings.HasPrefix(name, ".") {
		number, ok = name[i+len(partial):], true
	}
	return ok && number != "" && strings.Trim(number, "0123456789") == ""
}

// newFolder starts a folder that will stand at dir.
func newFolder(dir string, on disk) (*folder, error) {
	if on == nil {
		on = osDisk{}
	}
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, err
	}
	made, err := os.MkdirTemp(parent, unlocked)
	if err != nil {
		return nil, err
	}
	f := &folder{final: dir, temp: made, disk: on}
	if f.lock, err = lockDir(made); err == nil {
		err = os.Chmod(made, 0o755)
	}
	if err == nil {
		// It gets its name when it is locked: whatever has the name and no lock is stale.
		f.temp = filepath.Join(parent, "."+filepath.Base(dir)+partial+strings.TrimPrefix(filepath.Base(made), unlocked))
		if err = os.Rename(made, f.temp); err != nil {
			f.temp = made
		}
	}
	if err != nil {
		f.discard()
		return nil, err
	}
	return f, nil
}

// lockDir takes the lock that says that a run is at work on a folder. The kernel
// frees it when the process ends, however it ends.
func lockDir(path string) (*os.File, error) {
	d, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// removeStale removes what runs that were killed left behind in a folder of outputs,
// whichever job they carried out.
func removeStale(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !e.IsDir() || !unpublished(e.Name()) {
			continue
		}
		if strings.HasPrefix(e.Name(), unlocked) {
			// A run may be about to lock it.
			if info, err := e.Info(); err != nil || time.Since(info.ModTime()) < time.Minute {
				continue
			}
		}
		removeUnlocked(filepath.Join(parent, e.Name()))
	}
}

// removeUnlocked removes a folder in the making that no run is at work on, and reports
// whether it did.
func removeUnlocked(path string) bool {
	if !unpublished(filepath.Base(path)) {
		return false
	}
	d, err := lockDir(path)
	if err != nil {
		return false
	}
	defer d.Close()
	return os.RemoveAll(path) == nil
}

// write adds one file and returns the SHA-256 of its content. Nothing is on disk
// before publish.
func (f *folder) write(name string, mode fs.FileMode, content func(io.Writer) error) (string, error) {
	var b bytes.Buffer
	if err := content(&b); err != nil {
		return "", err
	}
	f.files = append(f.files, ledger.File{Path: name, Mode: mode, Data: b.Bytes()})
	sum := sha256.Sum256(b.Bytes())
	return hex.EncodeToString(sum[:]), nil
}

// writeAll adds files whose contents are made side by side.
func (f *folder) writeAll(mode fs.FileMode, names []string, contents []func(io.Writer) error) error {
	made := make([]bytes.Buffer, len(names))
	var all errgroup.Group
	for i, content := range contents {
		all.Go(func() error { return content(&made[i]) })
	}
	if err := all.Wait(); err != nil {
		return err
	}
	for i, name := range names {
		f.files = append(f.files, ledger.File{Path: name, Mode: mode, Data: made[i].Bytes()})
	}
	return nil
}

// writesAtOnce bounds how many files are made durable side by side: a disk does
// many at once in the time of one.
const writesAtOnce = 8

// publish puts the folder in place. Another run with the same files, one that waited
// for this one, may have been there first; after any other failure the files may stand
// there and still be lost with the next power cut.
func (f *folder) publish() error {
	err := f.settle()
	if errors.Is(err, fs.ErrExist) && holds(f.final, f.files) {
		return nil
	}
	return err
}

// settle makes the files and the folder durable and renames it into place.
// Renaming over anything but an empty folder fails, so nothing is ever
// overwritten.
func (f *folder) settle() error {
	var files errgroup.Group
	files.SetLimit(writesAtOnce)
	files.Go(f.remember)
	for _, file := range f.files {
		files.Go(func() error {
			return f.disk.write(filepath.Join(f.temp, file.Path), file.Mode, file.Data)
		})
	}
	if err := files.Wait(); err != nil {
		return err
	}
	if err := f.disk.syncDir(f.temp); err != nil {
		return err
	}
	if err := f.disk.rename(f.temp, f.final); err != nil {
		return err
	}
	return f.disk.syncDir(filepath.Dir(f.final))
}

// discard removes what was not published, and gives up the lock.
func (f *folder) discard() {
	os.RemoveAll(f.temp)
	if f.lock != nil {
		f.lock.Close()
	}
}
