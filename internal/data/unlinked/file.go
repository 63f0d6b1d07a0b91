package unlinked

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
)

// The errors of a File. Their texts are fixed, because those of a system name paths.
var (
	ErrFull     = errors.New("unlinked: the folder of temporary files has no room")
	ErrUnusable = errors.New("unlinked: the folder of temporary files cannot be used")
)

// fixed drops the text of a system's error.
func fixed(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		return ErrFull
	}
	return ErrUnusable
}

// KeyBytes is the length of a key.
const KeyBytes = 32

// File is a temporary file without a name.
//
// # Contract
//
// What stands on the disk is the data, exclusive or the stream of AES-256 in counter mode, where the counter is the place
// in the file. Each File made by New has a key of its own. No place is written twice with different bytes: two such writes
// would show how they differ. So a File grows at its end, and whoever writes into a reserved place does so once.
//
// Several goroutines may call the methods.
type File struct {
	file  *os.File
	block cipher.Block
	key   []byte
	size  atomic.Int64
}

// New makes a file in a folder; "" is the folder of temporary files.
func New(dir string) (*File, error) {
	key := make([]byte, KeyBytes)
	rand.Read(key) // never fails
	f, err := makeFile(dir)
	if err != nil {
		return nil, fixed(err)
	}
	return Open(f, key)
}

// Open takes over an open file and its key, from the process that made it.
func Open(f *os.File, key []byte) (*File, error) {
	block, err := aes.NewCipher(key)
	if err != nil || len(key) != KeyBytes {
		return nil, ErrUnusable
	}
	return &File{file: f, block: block, key: key}, nil
}

// Share returns what Open needs, for a process that this one trusts with rows.
func (f *File) Share() (*os.File, []byte) { return f.file, f.key }

// Format prints no key.
func (f *File) Format(s fmt.State, _ rune) { io.WriteString(s, "[a file without a name]") }

// Size returns how many bytes were written or reserved.
func (f *File) Size() int64 { return f.size.Load() }

// Reserve returns a place for n bytes, for WriteAt.
func (f *File) Reserve(n int64) (at int64) { return f.size.Add(n) - n }

// Append writes bytes at the end, and returns their place.
func (f *File) Append(b []byte) (at int64, err error) {
	at = f.Reserve(int64(len(b)))
	_, err = f.WriteAt(b, at)
	return at, err
}

// Write appends bytes, for an io.Writer.
func (f *File) Write(b []byte) (int, error) {
	if _, err := f.Append(b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// buffers hold what goes to the disk: the caller's bytes stay as they are.
var buffers = sync.Pool{New: func() any { return new([1 << 16]byte) }}

// WriteAt writes bytes to a reserved place.
func (f *File) WriteAt(b []byte, at int64) (n int, err error) {
	buffer := buffers.Get().(*[1 << 16]byte)
	defer buffers.Put(buffer)
	stream := f.stream(at)
	for n < len(b) {
		some := buffer[:min(len(b)-n, len(buffer))]
		stream.XORKeyStream(some, b[n:n+len(some)])
		if _, err := f.file.WriteAt(some, at+int64(n)); err != nil {
			return n, fixed(err)
		}
		n += len(some)
	}
	return n, nil
}

// ReadAt fills b with what was written at a place. It returns io.EOF behind the end.
func (f *File) ReadAt(b []byte, at int64) (int, error) {
	n, err := f.file.ReadAt(b, at)
	if n > 0 {
		f.stream(at).XORKeyStream(b[:n], b[:n])
	}
	if err != nil && err != io.EOF {
		err = fixed(err)
	}
	return n, err
}

// Fill reads as many bytes as b has.
func (f *File) Fill(b []byte, at int64) error {
	_, err := f.ReadAt(b, at)
	return fixed(err)
}

// stream returns the stream of the cipher from a place on.
func (f *File) stream(at int64) cipher.Stream {
	var counter, skipped [aes.BlockSize]byte
	binary.BigEndian.PutUint64(counter[8:], uint64(at)/aes.BlockSize)
	s := cipher.NewCTR(f.block, counter[:])
	skip := skipped[:at%aes.BlockSize]
	s.XORKeyStream(skip, skip)
	return s
}

// Close deletes the file. A nil File has none.
func (f *File) Close() error {
	if f == nil {
		return nil
	}
	return fixed(f.file.Close())
}
