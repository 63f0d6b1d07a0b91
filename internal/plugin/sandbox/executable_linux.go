package sandbox

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/dprelease/dprelease/internal/data/file"
)

// selfExe is the running binary, even where another has taken its place on disk.
const selfExe = "/proc/self/exe"

// Executable is a file that is ready to run. What runs is what was checked.
type Executable struct {
	path  string   // what to execute; with a file, its descriptor in the child
	file  *os.File // nil for the running binary itself
	needs []string // what it reads of the system
}

// Own reports that this is the running binary itself.
func (e *Executable) Own() bool { return e.file == nil }

// Close gives the memory of the file back.
func (e *Executable) Close() {
	if e.file != nil {
		e.file.Close()
	}
}

// Open reads an executable once, into memory that is then sealed, while it takes the
// digest. Neither a rename nor a write in place after the check can change what runs.
// Without a digest the path must be that of the running binary. The error is ErrDigest
// where the file does not have the digest.
func Open(path, wantHex string) (*Executable, error) {
	if wantHex == "" {
		// Under its own name or another; what runs is the running binary in any case.
		if own, err := os.Executable(); (err != nil || path != own) && !sameFile(path, selfExe) {
			return nil, ErrDigest
		}
		self, err := os.Open(selfExe)
		if err != nil {
			return nil, err
		}
		defer self.Close()
		return &Executable{path: selfExe, needs: needs(self)}, nil
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
		return nil, ErrDigest
	}
	seals := unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	if _, err := unix.FcntlInt(mem.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		mem.Close()
		return nil, err
	}
	// The child finds the file as its descriptor 3, open across exec so that a
	// script's interpreter can read it too.
	return &Executable{path: "/proc/self/fd/3", file: mem, needs: needs(mem)}, nil
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
