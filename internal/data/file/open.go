package file

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
)

// MaxProgram bounds a plugin's executable and each file beside it, in bytes.
const MaxProgram = 2 << 30

// ErrLarge is the cause of a file that has more bytes than its reader takes.
var ErrLarge = errors.New("is too large")

// NotRegular is the cause of a path that names no regular file.
type NotRegular struct{ Kind string }

func (e *NotRegular) Error() string { return "is " + e.Kind + ", not a file" }

// Open opens a regular file for reading. Anything else is refused at once with a
// [NotRegular], before a byte is read from it.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path) // to open a device may change it
	if err == nil {
		err = regular(path, info)
	}
	if err != nil {
		return nil, err
	}
	// The path may name something else by now, and to open a pipe waits for a writer.
	f, err := os.OpenFile(path, os.O_RDONLY|withoutWaiting, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = regular(path, info)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Bounded opens a regular file of at most most bytes. Its reader ends with [ErrLarge]
// where the file has grown beyond them since.
func Bounded(path string, most int64) (io.ReadCloser, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || info.Size() > most {
		f.Close()
		return nil, errors.Join(err, large(path))
	}
	return &bounded{File: f, left: most}, nil
}

// Digest is the SHA-256, in hexadecimal, of a regular file of at most so many bytes.
func Digest(path string, most int64) (string, error) {
	f, err := Bounded(path, most)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return hex.EncodeToString(sum.Sum(nil)), err
}

// Read returns the bytes of a regular file that has at most most of them.
func Read(path string, most int64) ([]byte, error) {
	f, err := Bounded(path, most)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var text bytes.Buffer
	if info, err := f.(*bounded).Stat(); err == nil {
		text.Grow(int(min(info.Size(), most)) + bytes.MinRead)
	}
	if _, err := text.ReadFrom(f); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

// bounded is a file that is read up to a number of bytes.
type bounded struct {
	*os.File
	left int64
}

// Read reads from the file; one byte more than is left is an error.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.File.Read(p[:min(int64(len(p)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		return 0, large(b.Name())
	}
	return n, err
}

// WriteTo hides the one of the file, which would read past the bound.
func (b *bounded) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{b})
}

func large(path string) error { return &fs.PathError{Op: "read", Path: path, Err: ErrLarge} }

// regular returns an error unless info is that of a regular file.
func regular(path string, info fs.FileInfo) error {
	kind := "something else"
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		kind = "a folder"
	case mode&fs.ModeNamedPipe != 0:
		kind = "a pipe"
	case mode&fs.ModeSocket != 0:
		kind = "a socket"
	case mode&fs.ModeDevice != 0:
		kind = "a device"
	}
	return &fs.PathError{Op: "open", Path: path, Err: &NotRegular{kind}}
}
