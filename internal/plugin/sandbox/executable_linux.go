package sandbox

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/dprelease/dprelease/internal/data/companion"
	"github.com/dprelease/dprelease/internal/data/file"
)

// selfExe is the running binary, even where another has taken its place on disk.
const selfExe = "/proc/self/exe"

// Executable is a file that is ready to run. What runs is what was checked.
type Executable struct {
	file  *os.File // the child has it as its descriptor 3
	own   bool
	needs []string // what it reads of the system
}

// childPath is the path of an executable in the child that is to become it.
const childPath = "/proc/self/fd/3"

// Own reports that this is the running binary itself, or a program of the same build.
func (e *Executable) Own() bool { return e.own }

// Close closes the file.
func (e *Executable) Close() { e.file.Close() }

// openOwn opens the running binary, under its own name or another, or else a program of the same build.
func openOwn(path string) (*Executable, error) {
	if own, err := os.Executable(); err == nil && path == own || sameFile(path, selfExe) {
		path = selfExe // another file may have taken its place
	}
	f, err := file.Open(path)
	if err != nil {
		return nil, err
	}
	if path != selfExe {
		if err := companion.SameBuild(f); err != nil {
			f.Close()
			return nil, err
		}
	}
	return &Executable{file: f, own: true, needs: needs(f)}, nil
}

// Open reads an executable once, into memory that is then sealed, while it takes the
// digest. Neither a rename nor a write in place after the check can change what runs.
// Without a digest the path must be that of the running binary, or of a program of the same build that
// whoever names it trusts as this one. The error is ErrDigest where the file does not have the digest, and
// a [companion.BuildError] where the program is of another build.
func Open(path, wantHex string) (*Executable, error) {
	if wantHex == "" {
		return openOwn(path)
	}
	want, err := hex.DecodeString(wantHex)
	if err != nil || len(want) != sha256.Size {
		return nil, ErrDigest
	}
	src, err := file.Open(path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	if fi, err := src.Stat(); err != nil || fi.Mode()&0o111 == 0 || fi.Size() > file.MaxProgram {
		return nil, errNoExecutable
	}
	mem, err := memoryFile()
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(sum, mem), src); err != nil {
		mem.Close()
		return nil, err
	}
	if subtle.ConstantTimeCompare(sum.Sum(nil), want) != 1 {
		mem.Close()
		return nil, fmt.Errorf("%w; its digest is %x", ErrDigest, sum.Sum(nil))
	}
	seals := unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	if _, err := unix.FcntlInt(mem.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		mem.Close()
		return nil, err
	}
	// It stays open across exec so that a script's interpreter can read it too.
	return &Executable{file: mem, needs: needs(mem)}, nil
}

var errNoExecutable = errors.New("not an executable file")

// memoryFile creates an executable, sealable file that has no name.
func memoryFile() (*os.File, error) {
	flags := unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate("plugin", flags|unix.MFD_EXEC)
	if err == unix.EINVAL { // a kernel before 6.3 knows no other kind
		fd, err = unix.MemfdCreate("plugin", flags)
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "plugin"), nil
}

func sameFile(a, b string) bool {
	fa, err := os.Stat(a)
	if err != nil {
		return false
	}
	fb, err := os.Stat(b)
	return err == nil && os.SameFile(fa, fb)
}
