package host

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// selfExe is the running binary, even where another has taken its place on disk.
const selfExe = "/proc/self/exe"

// executable is a file that is ready to run: what is run is what was checked.
type executable struct {
	path string   // what to execute; with a file, its descriptor in the child
	file *os.File // nil for the running binary itself
}

// own reports that this is the running binary itself.
func (e *executable) own() bool { return e.file == nil }

func (e *executable) close() {
	if e.file != nil {
		e.file.Close()
	}
}

// openExecutable reads the file once, into memory that is then sealed, while it
// takes the digest. Neither a rename nor a write in place after the check can
// change what runs.
func openExecutable(path, wantHex string) (*executable, string) {
	if wantHex == "" {
		// Under its own name or another; what runs is the running binary in any case.
		if own, err := os.Executable(); (err != nil || path != own) && !sameFile(path, selfExe) {
			return nil, CodeChecksum
		}
		return &executable{path: selfExe}, ""
	}
	want, err := hex.DecodeString(wantHex)
	if err != nil || len(want) != sha256.Size {
		return nil, CodeChecksum
	}
	src, err := os.Open(path)
	if err != nil {
		return nil, CodeStart
	}
	defer src.Close()
	if fi, err := src.Stat(); err != nil || !fi.Mode().IsRegular() || fi.Mode()&0o111 == 0 {
		return nil, CodeStart
	}
	mem, err := memoryFile()
	if err != nil {
		return nil, CodeStart
	}
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(sum, mem), src); err != nil {
		mem.Close()
		return nil, CodeStart
	}
	if subtle.ConstantTimeCompare(sum.Sum(nil), want) != 1 {
		mem.Close()
		return nil, CodeChecksum
	}
	seals := unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	if _, err := unix.FcntlInt(mem.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		mem.Close()
		return nil, CodeStart
	}
	// The child finds the file as its descriptor 3, open across exec so that a
	// script's interpreter can read it too.
	return &executable{path: "/proc/self/fd/3", file: mem}, ""
}

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
