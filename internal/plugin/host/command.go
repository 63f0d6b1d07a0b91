package host

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	plugin "github.com/hashicorp/go-plugin"

	"github.com/dprelease/dprelease/internal/data/companion"
	"github.com/dprelease/dprelease/internal/plugin/sandbox"
)

// Command names the executable of a plugin.
type Command struct {
	// Name is the plugin's name in errors.
	Name string
	// Path is the executable, and Files are the digests of what the plugin needs beside it, by
	// paths that begin in the folder of the executable.
	Path  string
	Files map[string]string
	Args  []string
	// SHA256 is the executable's digest in hexadecimal. It may be empty only where
	// Path is the running binary itself, or a program of the same build that is trusted as this one.
	SHA256 string
	// Opened is the executable where it was opened before; whoever opened it closes it. Else Start opens Path.
	Opened *sandbox.Executable
	// Mechanism is the mechanism of the plugin that is meant; it may be empty where
	// the plugin has only one.
	Mechanism string
	// AllowSelfNoising accepts a mechanism that draws noise of its own. Its events
	// are then what it claims, not what the host saw.
	AllowSelfNoising bool
	// Lattice rounds results to the public lattice of the plan instead of refusing those that are
	// off it. It is for mechanisms that are not trusted with their result.
	Lattice bool
	// Elsewhere starts the plugin in another environment than usual. A plan that is made
	// here and there must be the same.
	Elsewhere bool
	// Confine limits the plugin's processes.
	Confine sandbox.Confinement

	_ struct{}
}

// Open opens the executable and checks its digest, or that it is of this program's build.
func (c Command) Open() (*sandbox.Executable, error) {
	fault := func(code, detail string) error { return &Error{Code: code, Plugin: c.Name, Detail: detail} }
	if why := unusable(c.Path); why != "" && c.SHA256 != "" {
		return nil, fault(CodeStart, why)
	}
	exe, err := sandbox.Open(c.Path, c.SHA256)
	var other *companion.BuildError
	switch {
	case err == nil:
		return exe, nil
	case errors.As(err, &other):
		return nil, fault(CodeProgram, c.Path+": "+other.Error())
	case errors.Is(err, sandbox.ErrDigest):
		_, found, _ := strings.Cut(err.Error(), "; ")
		return nil, fault(CodeChecksum, found)
	case errors.Is(err, sandbox.ErrPlatform):
		return nil, fault(CodeStart, err.Error())
	case c.SHA256 == "":
		return nil, fault(CodeProgram, cmp.Or(c.Path, `""`)+": "+cmp.Or(unusable(c.Path), "the file cannot be read"))
	}
	return nil, fault(CodeStart, "")
}

// In returns how the plugin is started in a private directory. It copies the plugin's files there and
// holds the copies to their digests: what is in their place later is not what runs.
func (c Command) In(dir *sandbox.Dir) (sandbox.Command, error) {
	out := sandbox.Command{Args: append([]string{c.Path}, c.Args...), Dir: dir.Path, Confine: c.Confine, Elsewhere: c.Elsewhere,
		Env: []string{plugin.EnvUnixSocketDir + "=" + dir.Own}}
	if len(c.Files) == 0 {
		return out, nil
	}
	folder, err := dir.Keep(filepath.Dir(c.Path), c.Files)
	if err != nil {
		return out, err
	}
	out.Args[0], out.Env = filepath.Join(folder, filepath.Base(c.Path)), append(out.Env, sandbox.FilesKey+"="+folder)
	return out, nil
}

// unusable explains why a file cannot be the executable of a plugin; "" if nothing speaks against
// it. It is called before the file is opened, because opening a pipe would never end.
func unusable(path string) string {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file"
	case err != nil:
		return "the file cannot be examined"
	case info.IsDir():
		return "that is a folder"
	case !info.Mode().IsRegular():
		return "that is not a regular file"
	case info.Mode()&0o111 == 0:
		return "the file is not executable; see chmod"
	}
	return ""
}

// Limits bound what a plugin may take. The zero value stands for the defaults.
type Limits struct {
	Start   time.Duration // start and handshake, also on a machine with much else to do; 1 min
	Plan    time.Duration // each of the four calls of Describe and Plan; 30 s
	Release time.Duration // one release, its rows included; 1 h
	Grace   time.Duration // from asking a process to end to killing it; 1 s

	ResultRows  int64 // rows of a result; 10 million
	ResultBytes int64 // bytes of a result; 256 MiB

	// SlowestLane hands rows over in the slowest way that the plugin supports. A check
	// of a plugin tries both the fastest and the slowest.
	SlowestLane bool
	// SoleParent says that this process starts no children except plugins, so that
	// any other process left with it as parent is a plugin's orphan and is killed,
	// even one that left its session and cleared its environment.
	SoleParent bool
	// Quarantine receives what the plugin writes to stdout and stderr, up to
	// QuarantineBytes (1 MiB). It is CONFIDENTIAL (P19): it may hold values. Nil
	// drops all of it.
	Quarantine      io.Writer
	QuarantineBytes int64

	_ struct{}
}

func (l Limits) filled() Limits {
	set := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	set(&l.Start, time.Minute)
	set(&l.Plan, 30*time.Second)
	set(&l.Release, time.Hour)
	set(&l.Grace, time.Second)
	if l.ResultRows <= 0 {
		l.ResultRows = 10_000_000
	}
	if l.ResultBytes <= 0 {
		l.ResultBytes = 256 << 20
	}
	if l.QuarantineBytes <= 0 {
		l.QuarantineBytes = 1 << 20
	}
	return l
}
