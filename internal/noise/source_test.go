package noise

import (
	"bytes"
	"crypto/aes"
	"encoding/hex"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

func TestSourceIsAESCounterModeWithKeyErasure(t *testing.T) {
	// The stream under the all-zero key: AES-256 of the counters 2, 3, ... (the
	// first two blocks are the next key). NIST's AES-256 zero-key vector for
	// counter 0 is dc95c078a2408989ad48a21492842087: block 0 of the next key.
	s, err := newSource(bytes.NewReader(make([]byte, 32)))
	if err != nil {
		t.Fatal(err)
	}
	s.Uint64()
	if got := hex.EncodeToString(s.key[:16]); got != "dc95c078a2408989ad48a21492842087" {
		t.Errorf("first block of stream is %s", got)
	}
	// What is served are the blocks that follow, counted from 2.
	block, err := aes.NewCipher(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	for i := range blockSize / 16 {
		want, counter := make([]byte, 16), make([]byte, 16)
		counter[14], counter[15] = byte((i+2)>>8), byte(i+2)
		block.Encrypt(want, counter)
		if !bytes.Equal(want, s.buf[16*i:16*i+16]) {
			t.Fatalf("block %d is not that of counter mode", i)
		}
	}
	first := append([]byte(nil), s.buf...)
	for range blockSize / 8 {
		s.Uint64()
	}
	if bytes.Equal(first[:4096], s.buf[:4096]) {
		t.Error("the second block of stream repeats the first")
	}
	if bytes.Contains(s.stream, s.key[:]) {
		t.Error("the key in use is left in the stream buffer")
	}
}

func TestSourceFailsWithoutEntropy(t *testing.T) {
	for _, r := range []io.Reader{bytes.NewReader(nil), bytes.NewReader(make([]byte, 31))} {
		if s, err := newSource(r); err == nil || s != nil {
			t.Errorf("got a source without entropy")
		}
	}
}

func TestZeroSourceKeysItself(t *testing.T) {
	var a, b Source
	if a.Uint64() == b.Uint64() {
		t.Error("two zero sources give the same stream")
	}
	var none *Source
	if none.Err() == nil {
		t.Error("a nil source is not an error")
	}
	if err := AddDiscreteLaplace(nil, make([]int64, 1), 1); err == nil {
		t.Error("a draw from a nil source is not an error")
	}
}

func TestChildrenDiffer(t *testing.T) {
	s := newSourceT(t)
	seen := map[uint64]bool{}
	for range 100 {
		seen[s.Child().Uint64()] = true
		seen[s.Uint64()] = true
	}
	if len(seen) != 200 {
		t.Errorf("%d different words of 200", len(seen))
	}
}

func TestTapeRunsOut(t *testing.T) {
	s := words(7)
	if s.Uint64() != 7 || s.Err() != nil {
		t.Fatal("the tape does not start with its bytes")
	}
	if s.Uint64(); !errors.Is(s.Err(), ErrTape) {
		t.Error("running out is not reported")
	}
	dst := []int64{5}
	if err := AddDiscreteGaussian(s, dst, 3); !errors.Is(err, ErrTape) || dst[0] != 0 {
		t.Errorf("a draw past the end: %v, %v", dst, err)
	}
	if !errors.Is(s.Child().Err(), ErrTape) {
		t.Error("a child forgets that the tape ran out")
	}
}

// Each result has the same number of words: with it and the monotony of the
// high half, Uint64n is uniform.
func TestUint64nHasEqualShares(t *testing.T) {
	for _, n := range []uint64{1, 2, 3, 5, 6, 7, 1000, 1<<32 + 1, 1<<63 - 25, 1 << 63, 1<<63 + 1, 1<<64 - 1} {
		share := ^uint64(0)/n + b2u(^uint64(0)%n == n-1) // floor(2^64/n)
		accepts := func(w uint64) (uint64, bool) {
			s := words(w)
			j := s.Uint64n(n)
			return j, s.Err() == nil
		}
		for _, j := range []uint64{0, 1, 2, n / 2, n - 2, n - 1} {
			if j >= n {
				continue
			}
			first := choice(j, n)
			last := first + share - 1
			for _, w := range []uint64{first, last} {
				if got, ok := accepts(w); !ok || got != j {
					t.Errorf("n=%d: word %d of %d gives %d (taken %v)", n, w, j, got, ok)
				}
			}
			if first > 0 {
				if got, ok := accepts(first - 1); ok && got == j {
					t.Errorf("n=%d: %d has a word before its first", n, j)
				}
			}
			if last+1 > last {
				if got, ok := accepts(last + 1); ok && got == j {
					t.Errorf("n=%d: %d has a word after its last", n, j)
				}
			}
		}
	}
}

func b2u(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{join .Imports "\n"}}`, ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	list := strings.Fields(string(out))
	if len(list) < 5 {
		t.Fatalf("only %d imports listed", len(list))
	}
	for _, p := range list {
		if strings.HasPrefix(p, "math/rand") || strings.Contains(p, ".") && !strings.HasSuffix(p, "/noise/internal/known") {
			t.Errorf("imports %s", p)
		}
	}
}
