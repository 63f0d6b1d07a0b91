package noise

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
)

// Key is a secret from which several machines, or one machine twice, derive the same streams.
type Key [keySize]byte

// NewKey draws a key.
func (s *Source) NewKey() (k Key) {
	for i := 0; i < keySize; i += 8 {
		binary.LittleEndian.PutUint64(k[i:], s.Uint64())
	}
	return k
}

// Derive returns the key of one purpose and one place. Keys of different purposes or places say nothing of one another.
func (k Key) Derive(purpose string, places ...uint64) (out Key) {
	mac := hmac.New(sha256.New, k[:])
	b := append(binary.LittleEndian.AppendUint64(nil, uint64(len(purpose))), purpose...)
	for _, p := range places {
		b = binary.LittleEndian.AppendUint64(b, p)
	}
	_, _ = mac.Write(b)
	copy(out[:], mac.Sum(nil))
	return out
}

// Source returns the one stream of a key. The same key gives the same stream again, so a key is for one draw, which may
// be repeated, and never for noise: noise that is drawn again is worth less (P21).
//
// # Contract
//
// Without the key, nobody can tell the stream from independent fair bits, or the streams of derived keys from independent
// ones. Proof: keyed.proof.md.
func (k Key) Source() *Source { return &Source{key: k, keyed: true} }

// SourceOf returns the one stream of a key and a name, such as that of a unit. A key whose streams
// are told apart by names derives no other keys.
//
// # Contract
//
// That of Source, for any names: without the key, nobody can tell the streams of different names
// from independent ones. Proof: keyed.proof.md.
func (k Key) SourceOf(name []byte) *Source {
	mac := hmac.New(sha256.New, k[:])
	part := func(of byte) []byte {
		mac.Reset()
		_, _ = mac.Write([]byte{of})
		_, _ = mac.Write(name)
		return mac.Sum(nil)
	}
	s := &Source{buf: part(0), keyed: true} // enough for most, and a block would be much work
	copy(s.key[:], part(1))
	return s
}
