package ledger

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"strconv"
)

// Rows are the rows of a draw that is kept, and what they are rows of.
type Rows struct {
	Sample  string
	Content string // keyed digest of the whole table
	Data    []byte
}

// vault encrypts the rows of one sample, bound to what the sample is. Its key follows from the
// ledger's secret and from own, a key that can be destroyed (keys.go); own is "" where there is
// none. Whoever can read the ledger can open it.
func (l *Ledger) vault(s *Node, own string) (cipher.AEAD, []byte, error) {
	key, err := hkdf.Key(sha256.New, append(l.content[:], own...), []byte(l.id), "dprelease kept sample 1\n"+s.ID, 32)
	if err != nil {
		return nil, nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, nil, err
	}
	gcm, err := cipher.NewGCM(block)
	about := s.ID + "\n" + strconv.FormatInt(s.Account, 10) + "\n" + strconv.FormatInt(s.Debit, 10) + "\n" + s.Content + "\n" + s.Event +
		"\n" + s.Facts
	return gcm, []byte(about), err
}

// padded is the smallest allowed length of at least n: it says no more of a draw
// than its size to one part in sixteen (P19).
func padded(n int) int {
	n = max(n, 4096)
	step := 1 << max(0, bits.Len(uint(n))-5)
	return (n + step - 1) / step * step
}

// conceal seals rows.
func (l *Ledger) conceal(s *Node, own string, data []byte) ([]byte, error) {
	if len(data) > maxArchive {
		return nil, refuse(CodeTooLarge, "a draw is larger than a ledger can store (%d MiB)", maxArchive>>20)
	}
	gcm, about, err := l.vault(s, own)
	if err != nil {
		return nil, err
	}
	plain := binary.AppendUvarint(nil, uint64(len(data)))
	plain = append(plain, data...)
	plain = append(plain, make([]byte, padded(len(plain))-len(plain))...)
	nonce := make([]byte, gcm.NonceSize())
	rand.Read(nonce)
	return gcm.Seal(nonce, nonce, plain, about), nil
}

// reveal opens what conceal sealed.
func (l *Ledger) reveal(s *Node, own string, sealed []byte) ([]byte, error) {
	damaged := refuse(CodeTampered, "the stored rows of sample %s are not those that were sealed", s.ID)
	gcm, about, err := l.vault(s, own)
	if err != nil || len(sealed) < gcm.NonceSize() {
		return nil, damaged
	}
	plain, err := gcm.Open(nil, sealed[:gcm.NonceSize()], sealed[gcm.NonceSize():], about)
	if err != nil {
		return nil, damaged
	}
	n, k := binary.Uvarint(plain)
	if k <= 0 || n > uint64(len(plain)-k) {
		return nil, damaged
	}
	return plain[k : k+int(n)], nil
}

// Rows opens the rows of a kept sample. They are as private as the data.
func (l *Ledger) Rows(ctx context.Context, id string) (data []byte, err error) {
	var s *Node
	var sealed []byte
	var own string
	err = l.read(ctx, func(t *tx) error {
		if s, err = t.node(id); err != nil {
			return err
		}
		if s == nil || !s.Open || s.Digest == "" {
			return refuse(CodeSample, "sample %s is not there", id)
		}
		if s.Kind == KindPanel {
			if own, err = t.ownKey(id); err != nil {
				return err
			}
		}
		return t.row("SELECT sealed FROM dprelease_nodes WHERE id = ?", id).Scan(&sealed)
	})
	if err != nil {
		return nil, err
	}
	if digestOf(sealed) != s.Digest {
		return nil, refuse(CodeTampered, "the stored rows of sample %s are not those that were sealed", id)
	}
	return l.reveal(s, own, sealed)
}
