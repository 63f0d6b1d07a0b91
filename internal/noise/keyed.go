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

// Derive returns the key of one purpose and one place. Those of different purposes or places say nothing of one another.
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

// Source returns the one stream of a key. Whoever asks again gets the same stream, so a key must be used for one draw,
// which may then be made again, and never for noise: noise that is drawn again is worth less (P21).
//
// # Contract
//
// To whoever does not know the key, the stream cannot be told from independent fair bits, and those of derived keys not
// from independent streams. Proof: keyed.proof.md.
func (k Key) Source() *Source { return &Source{key: k, keyed: true} }
