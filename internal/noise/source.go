package noise

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"github.com/dprelease/dprelease/internal/noise/internal/known"
)

// ErrTape is the error of a test's Source whose tape is at its end.
var ErrTape = errors.New("noise: the byte tape ran out")

// errNoSource is the error of a draw from a nil Source: there is no default.
var errNoSource = errors.New("noise: no random source given: make one with NewSource")

const (
	keySize   = 32
	blockSize = 8192 // bytes of stream drawn under one key
)

// Source is a stream of random bits for draws that are released. It is AES-256
// in counter mode, keyed by 256 bits of the operating system's CSPRNG; after
// each block of stream it replaces its own key by output that nobody saw, so
// that a stolen Source says nothing about earlier draws (fast key erasure).
//
// The zero value keys itself at the first draw. A Source is not safe for
// concurrent use: give each goroutine a Child. Argument: source.proof.md.
type Source struct {
	buf    []byte // the stream drawn under the last key
	pos    int    // first unread byte of buf
	stream []byte // buf's backing, with the next key in front
	key    [keySize]byte
	keyed  bool
	tape   bool
	script func(n uint64) uint64 // tests only: makes the choices instead
	err    error
}

// NewSource returns a Source keyed by the operating system's CSPRNG. Failure to
// read that is an error, and nothing may be released then (P16).
func NewSource() (*Source, error) { return newSource(rand.Reader) }

func newSource(entropy io.Reader) (*Source, error) {
	s := new(Source)
	if _, err := io.ReadFull(entropy, s.key[:]); err != nil {
		return nil, fmt.Errorf("noise: reading the operating system's random generator: %w", err)
	}
	s.keyed = true
	return s, nil
}

// Known returns a Source that makes the given choices: for tests, which reach it through
// package insecurenoise.
func Known(c known.Choices) *Source {
	return &Source{buf: append([]byte(nil), c.Tape...), keyed: true, tape: c.Choose == nil, script: c.Choose}
}

// Err reports why the draws of s must not be used, or nil.
func (s *Source) Err() error {
	if s == nil {
		return errNoSource
	}
	return s.err
}

// Child returns an independent stream, keyed by 256 bits of s: one for each
// goroutine. Its draws reveal nothing about those of s, nor the reverse.
func (s *Source) Child() *Source {
	c := new(Source)
	c.script = s.script
	for i := 0; i < keySize; i += 8 {
		binary.LittleEndian.PutUint64(c.key[i:], s.Uint64())
	}
	c.keyed, c.tape, c.err = true, s.tape, s.err
	return c
}

// Uint64 returns 64 independent fair bits.
func (s *Source) Uint64() uint64 {
	if s.pos+8 > len(s.buf) {
		return s.next()
	}
	v := binary.LittleEndian.Uint64(s.buf[s.pos:])
	s.pos += 8
	return v
}

// next is Uint64 where the stream at hand has run out.
func (s *Source) next() uint64 {
	if s.script != nil { // its buf is always empty
		return s.script(0)
	}
	s.refill()
	return s.Uint64()
}

// Uint64n returns a uniform integer in [0, n), exactly: Lemire's multiplication
// with rejection. For n = 0 it returns 64 fair bits.
func (s *Source) Uint64n(n uint64) uint64 {
	if n == 0 {
		return s.Uint64()
	}
	if s.script != nil {
		return s.script(n)
	}
	w := s.Uint64()
	hi, lo := bits.Mul64(w, n)
	if lo < n {
		// 2^64 = q·n + t: words whose low half is below t are the surplus ones.
		for t := -n % n; lo < t; {
			hi, lo = bits.Mul64(s.Uint64(), n)
		}
	}
	return hi
}

// refill draws the next block of stream and replaces the key.
func (s *Source) refill() {
	if !s.keyed {
		// crypto/rand.Read ends the process when the system cannot deliver: no
		// draw is ever made from an unkeyed Source.
		rand.Read(s.key[:])
		s.keyed = true
	}
	if s.tape {
		s.err = ErrTape
	}
	if s.stream == nil {
		s.stream = make([]byte, keySize+blockSize)
	}
	clear(s.stream)
	// NewCipher fails on a wrong key length only, and this one is fixed.
	block, err := aes.NewCipher(s.key[:])
	if err != nil {
		panic("noise: " + err.Error())
	}
	// A fresh key for each block of stream: the counter may start at zero.
	cipher.NewCTR(block, make([]byte, aes.BlockSize)).XORKeyStream(s.stream, s.stream)
	copy(s.key[:], s.stream)
	clear(s.stream[:keySize])
	s.buf, s.pos = s.stream[keySize:], 0
}
