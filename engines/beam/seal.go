package main

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"os"
	"sync"
)

// Sealed is work as it stands in a pipeline. Only those who know the secret can open it.
type Sealed struct {
	Text       []byte
	SecretFile string // where the secret is, "" for the one of this process
}

// opened is the content of Sealed.
type opened struct {
	Order []byte
	Key   []byte // of what workers send
}

// secret seals work for workers in this process.
var secret = sync.OnceValue(func() []byte {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails
	return b
})

var errSecret = errors.New("the secret file cannot be read, or is shorter than 32 bytes")

// secretOf reads a secret. A file is hashed: it may hold any text that nobody can guess.
func secretOf(file string) ([]byte, error) {
	if file == "" {
		return secret(), nil
	}
	b, err := os.ReadFile(file)
	if err != nil || len(b) < 32 {
		return nil, errSecret
	}
	sum := sha256.Sum256(append([]byte("dprelease-beam secret 1\n"), b...))
	return sum[:], nil
}

// sealWork seals an order with a new key for what workers send.
func sealWork(order []byte, file string) (Sealed, *opened, error) {
	o := &opened{Order: order, Key: make([]byte, 32)}
	_, _ = rand.Read(o.Key) // never fails
	key, err := secretOf(file)
	if err != nil {
		return Sealed{}, nil, err
	}
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(o); err != nil {
		return Sealed{}, nil, err
	}
	text, err := seal(key, "order", b.Bytes())
	return Sealed{text, file}, o, err
}

// open opens sealed work.
func (s *Sealed) open() (*opened, error) {
	key, err := secretOf(s.SecretFile)
	if err != nil {
		return nil, err
	}
	text, err := unseal(key, "order", s.Text)
	if err != nil {
		return nil, err
	}
	o := &opened{}
	return o, gob.NewDecoder(bytes.NewReader(text)).Decode(o)
}

func aead(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// seal seals bytes for one place: nobody can put them in another.
func seal(key []byte, place string, text []byte) ([]byte, error) {
	a, err := aead(key)
	if err != nil {
		return nil, err
	}
	return a.Seal(nil, nil, padded(text), []byte(place)), nil
}

// unseal opens what was sealed for a place.
func unseal(key []byte, place string, sealed []byte) ([]byte, error) {
	a, err := aead(key)
	if err != nil {
		return nil, err
	}
	text, err := a.Open(nil, nil, sealed, []byte(place))
	if err != nil {
		return nil, err
	}
	end := bytes.LastIndexByte(text, 1)
	if end < 0 {
		return nil, errors.New("not padded")
	}
	return text[:end], nil
}

// padded puts a mark and zeros behind a text, up to the next power of two: a runner that shows how many bytes went where
// tells the number of rows up to a factor of two, and no more.
func padded(text []byte) []byte {
	n := 4096
	for n < len(text)+1 {
		n *= 2
	}
	out := make([]byte, n)
	out[copy(out, text)] = 1
	return out
}
