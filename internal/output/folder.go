package output

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

	"github.com/dprelease/dprelease/internal/data/store/address"
	"github.com/dprelease/dprelease/internal/guard"
	"github.com/dprelease/dprelease/ledger"
)

// Folder is an output folder in the making: built under another name beside its
// place, made durable, and renamed into place. It appears whole or not at all.
//
// A folder that a killed run left behind is removed by the next one: its lock is
// free.
type Folder struct {
	Final, Temp string // in object storage there is no Temp
	lock        *os.File
	disk        Disk
	Files       []ledger.File // what it will hold
}

// Taken reports whether something stands where an output folder is to be published: anything
// but an empty folder that another folder can take the place of. Without this question a run
// would find it only after the budget is spent.
func Taken(dir string) (bool, error) {
	if address.Is(dir) {
		return shelfTaken(dir)
	}
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case errors.Is(err, syscall.ENOTDIR):
		return true, nil
	case err != nil:
		return true, err
	case !info.IsDir(), Mounted(dir, info):
		return true, nil
	}
	entries, err := os.ReadDir(dir)
	return err != nil || len(entries) > 0, err
}

// Irreplaceable names what stands in the place of an output folder that is no folder,
// or not one that another can take the place of.
func Irreplaceable(dir string) string {
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return ""
	case info.Mode()&fs.ModeSymlink != 0:
		return "a symbolic link"
	case !info.IsDir():
		return "a file"
	case Mounted(dir, info):
		return "the root of a mounted file system"
	}
	return ""
}

// partial stands in the name of a folder in the making, before a number.
const partial = ".partial-"

// unlocked begins the name of such a folder until it is locked, which takes a moment.
const unlocked = ".dprelease-new-"

// unpublished reports whether a folder was never put in its place: a run is at work on
// it, or was killed there. Nothing in it is a release.
func unpublished(name string) bool {
	number, ok := strings.CutPrefix(name, unlocked)
	if i := strings.LastIndex(name, partial); !ok && i >= 0 && strings.HasPrefix(name, ".") {
		number, ok = name[i+len(partial):], true
	}
	return ok && number != "" && strings.Trim(number, "0123456789") == ""
}

// NewFolder starts a folder that will stand at dir. It fails where files cannot be made there.
func NewFolder(dir string, on Disk) (*Folder, error) {
	if address.Is(dir) {
		return &Folder{Final: dir}, tryShelf(dir)
	}
	if on == nil {
		on = OSDisk{}
	}
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, err
	}
	made, err := os.MkdirTemp(parent, unlocked)
	if err != nil {
		return nil, err
	}
	f := &Folder{Final: dir, Temp: made, disk: on}
	if f.lock, err = lockDir(made); err == nil {
		err = os.Chmod(made, 0o755)
	}
	if err == nil {
		// It gets its name when it is locked: whatever has the name and no lock is stale.
		f.Temp = filepath.Join(parent, "."+filepath.Base(dir)+partial+strings.TrimPrefix(filepath.Base(made), unlocked))
		if err = os.Rename(made, f.Temp); err != nil {
			f.Temp = made
		}
	}
	if err != nil {
		f.Discard()
		return nil, err
	}
	return f, nil
}

// RemoveStale removes what runs that were killed left behind in a folder of outputs,
// whichever job they carried out.
func RemoveStale(parent string) {
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
		RemoveUnlocked(filepath.Join(parent, e.Name()))
	}
}

// RemoveUnlocked removes a folder in the making that no run is at work on, and reports
// whether it did.
func RemoveUnlocked(path string) bool {
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
func (f *Folder) write(name string, mode fs.FileMode, content func(io.Writer) error) (string, error) {
	var b bytes.Buffer
	if err := content(&b); err != nil {
		return "", err
	}
	f.add(name, mode, b.Bytes())
	sum := sha256.Sum256(b.Bytes())
	return hex.EncodeToString(sum[:]), nil
}

func (f *Folder) add(name string, mode fs.FileMode, data []byte) {
	f.Files = append(f.Files, ledger.File{Path: name, Mode: mode, Data: data})
}

// writesAtOnce bounds how many files are made durable side by side: a disk does
// many at once in the time of one.
const writesAtOnce = 8

// Publish puts the folder in place. Another run with the same files, one that waited
// for this one, may have been there first; after any other failure the files may stand
// there and still be lost with the next power cut.
func (f *Folder) Publish() error {
	if address.Is(f.Final) {
		return publishShelf(f.Final, f.Files)
	}
	err := f.settle()
	if errors.Is(err, fs.ErrExist) && Holds(f.Final, f.Files) {
		return nil
	}
	return err
}

// settle makes the files and the folder durable and renames it into place.
// Renaming over anything but an empty folder fails, so nothing is ever
// overwritten.
func (f *Folder) settle() error {
	var files errgroup.Group
	files.SetLimit(writesAtOnce)
	files.Go(func() error { return guard.Do(f.remember) })
	for _, file := range f.Files {
		files.Go(func() error {
			return guard.Do(func() error { return f.disk.Write(filepath.Join(f.Temp, file.Path), file.Mode, file.Data) })
		})
	}
	if err := files.Wait(); err != nil {
		return err
	}
	if err := f.disk.SyncDir(f.Temp); err != nil {
		return err
	}
	if err := f.disk.Rename(f.Temp, f.Final); err != nil {
		return err
	}
	return f.disk.SyncDir(filepath.Dir(f.Final))
}

// Discard removes what was not published, and gives up the lock.
func (f *Folder) Discard() {
	if f.Temp != "" {
		os.RemoveAll(f.Temp)
	}
	if f.lock != nil {
		f.lock.Close()
	}
}

// Disk is the file system as publishing uses it, step by step, so that a test
// can make each step fail. Files are written side by side.
type Disk interface {
	Write(path string, mode fs.FileMode, data []byte) error // durable, or an error
	Rename(from, to string) error
	SyncDir(path string) error
}

// OSDisk is the real one.
type OSDisk struct{}

// Write makes a durable file.
func (OSDisk) Write(path string, mode fs.FileMode, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		f.Close()
		return err
	}
	if err := f.Sync(); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// Rename also takes the place of an empty folder, in one step; os.Rename refuses to.
func (OSDisk) Rename(from, to string) error { return replace(from, to) }
