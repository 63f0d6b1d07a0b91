package table

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/data/table/pagewalk"
)

// deltaList writes numbers as the format describes it, with blocks of a size. wrap says whether differences wrap around at 32
// bits.
func deltaList(values []int64, block, minis int, wrap bool) []byte {
	b := binary.AppendUvarint(nil, uint64(block))
	b = binary.AppendUvarint(b, uint64(minis))
	b = binary.AppendUvarint(b, uint64(len(values)))
	signed := func(v int64) uint64 { return uint64(v)<<1 ^ uint64(v>>63) }
	if len(values) == 0 {
		return binary.AppendUvarint(b, 0)
	}
	b = binary.AppendUvarint(b, signed(values[0]))
	var steps []int64
	for i := 1; i < len(values); i++ {
		step := values[i] - values[i-1]
		if wrap {
			step = int64(int32(step))
		}
		steps = append(steps, step)
	}
	for some := range slices.Chunk(steps, block) {
		least := slices.Min(some)
		b = binary.AppendUvarint(b, signed(least))
		per := block / minis
		widths, packed := make([]byte, minis), []byte(nil)
		for k := range minis {
			if k*per >= len(some) {
				continue
			}
			part := some[k*per : min((k+1)*per, len(some))]
			for _, step := range part {
				for v := uint64(step - least); v>>widths[k] != 0 && widths[k] < 64; {
					widths[k]++
				}
			}
			bits := make([]byte, per*int(widths[k])/8)
			for i, step := range part {
				for j := range int(widths[k]) {
					at := i*int(widths[k]) + j
					bits[at/8] |= byte(uint64(step-least)>>j&1) << (at % 8)
				}
			}
			packed = append(packed, bits...)
		}
		b = append(append(b, widths...), packed...)
	}
	return b
}

// deltaTexts writes a page of incremental texts.
func deltaTexts(texts []string) []byte {
	shared, added, rest := make([]int64, len(texts)), make([]int64, len(texts)), []byte(nil)
	before := ""
	for i, s := range texts {
		n := 0
		for n < min(len(s), len(before)) && s[n] == before[n] {
			n++
		}
		shared[i], added[i] = int64(n), int64(len(s)-n)
		rest, before = append(rest, s[n:]...), s
	}
	return slices.Concat(deltaList(shared, 128, 4, false), deltaList(added, 128, 4, false), rest)
}

// TestDeltaOfEveryWidth writes numbers whose differences take each width, by the definition of the format, and reads them back.
func TestDeltaOfEveryWidth(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for width := 0; width <= 64; width++ {
		for _, n := range []int{1, 2, 31, 32, 33, 64, 65, 128, 129, 130, 257, 1000} {
			for _, shape := range [][2]int{{128, 4}, {128, 1}, {32, 1}, {1024, 32}, {2048, 8}} {
				want, want32 := make([]int64, n), make([]int32, n)
				for i := range want {
					want[i] = int64(r.Uint64() >> (64 - width))
					want32[i] = int32(want[i])
				}
				got, got32 := make([]int64, n), make([]int32, n)
				b := deltaList(want, shape[0], shape[1], false)
				if err := deltaNumbers(b, got); err != nil || !slices.Equal(got, want) {
					t.Fatalf("width %d, %d numbers, %v: %v", width, n, shape, err)
				}
				// Writers make differences of 32 bits with and without a wrap.
				if err := deltaNumbers(b, got32); err != nil || !slices.Equal(got32, want32) {
					t.Fatalf("width %d, %d numbers of 32 bits, %v: %v", width, n, shape, err)
				}
				for i := range want {
					want[i] = int64(want32[i])
				}
				if err := deltaNumbers(deltaList(want, shape[0], shape[1], true), got32); err != nil || !slices.Equal(got32, want32) {
					t.Fatalf("width %d, %d numbers of 32 bits that wrap, %v: %v", width, n, shape, err)
				}
				for _, damaged := range [][]byte{b[:len(b)-1], append(slices.Clip(b), 1), append(slices.Clip(b), make([]byte, 9)...)} {
					if n > 1 && deltaNumbers(damaged, got) == nil && len(damaged) != len(b)-1 {
						t.Fatalf("width %d, %d numbers, %v: bytes behind the list were accepted", width, n, shape)
					}
				}
				if deltaNumbers(b, make([]int64, n+1)) == nil || deltaNumbers(b, make([]int64, n-1)) == nil {
					t.Fatalf("width %d, %d numbers: another count was accepted", width, n)
				}
			}
		}
	}
}

// TestDeltaListsThatLie: what a header declares decides neither what is allocated nor how long reading takes.
func TestDeltaListsThatLie(t *testing.T) {
	good := deltaList([]int64{5, 6, 9, 2}, 128, 4, false)
	head := func(v ...uint64) (b []byte) {
		for _, x := range v {
			b = binary.AppendUvarint(b, x)
		}
		return b
	}
	for name, b := range map[string][]byte{
		"nothing":              nil,
		"a header that ends":   head(128, 4, 4),
		"no miniblocks":        head(128, 0, 4, 0, 0),
		"no block":             head(0, 4, 4, 0, 0),
		"blocks of 2^40":       head(1<<40, 4, 4, 0, 0),
		"uneven miniblocks":    head(128, 3, 4, 0, 0),
		"miniblocks of 8":      head(128, 16, 4, 0, 0),
		"another count":        head(128, 4, 1<<40, 0, 0),
		"widths that end":      append(head(128, 4, 4, 0, 0), 1, 0),
		"a width above 64":     append(head(128, 4, 4, 0, 0), append([]byte{65, 0, 0, 0}, make([]byte, 512)...)...),
		"numbers that end":     good[:len(good)-1],
		"a varint of 11 bytes": bytes.Repeat([]byte{0xff}, 11),
	} {
		if deltaNumbers(b, make([]int64, 4)) == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	texts := func(shared, added []int64, rest string) []byte {
		return slices.Concat(deltaList(shared, 128, 4, false), deltaList(added, 128, 4, false), []byte(rest))
	}
	for name, b := range map[string][]byte{
		"the first shares":            texts([]int64{1, 0}, []int64{1, 1}, "ab"),
		"more is shared than there":   texts([]int64{0, 2}, []int64{1, 1}, "ab"),
		"a negative prefix":           texts([]int64{0, -1}, []int64{1, 1}, "ab"),
		"a negative suffix":           texts([]int64{0, 0}, []int64{3, -1}, "ab"),
		"suffixes that end":           texts([]int64{0, 1}, []int64{1, 1}, "a"),
		"suffixes that are too many":  texts([]int64{0, 1}, []int64{1, 1}, "abc"),
		"a suffix as long as memory":  texts([]int64{0, 0}, []int64{math.MaxInt64, 1}, "ab"),
		"prefixes without suffixes":   deltaList([]int64{0, 0}, 128, 4, false),
		"more prefixes than suffixes": slices.Concat(deltaList([]int64{0, 0}, 128, 4, false), deltaList([]int64{1}, 128, 4, false), []byte("a")),
	} {
		if _, err := textBytes(b, 2); err == nil {
			t.Errorf("%s: counted", name)
		}
		if incrementalTexts(b, 2, make([]byte, len(b)), func(int, []byte, bool) error { return nil }) == nil {
			t.Errorf("%s: read", name)
		}
	}
	for name, b := range map[string][]byte{
		"a negative length":   append(deltaList([]int64{3, -1}, 128, 4, false), "ab"...),
		"texts that end":      append(deltaList([]int64{1, 2}, 128, 4, false), "ab"...),
		"texts that are more": append(deltaList([]int64{1, 1}, 128, 4, false), "abc"...),
	} {
		if cutTexts(b, 2, func(int, []byte, bool) error { return nil }) == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

// TestTextsAreCountedBeforeTheyAreMade: the count is what making them takes, and a text that repeats takes nothing.
func TestTextsAreCountedBeforeTheyAreMade(t *testing.T) {
	texts := []string{"", "", "a", "ab", "ab", "abc", "b", strings.Repeat("b", 1000), strings.Repeat("b", 1000), "b"}
	b := deltaTexts(texts)
	want := int64(1 + 2 + 3 + 1 + 1000 + 1)
	if n, err := textBytes(b, len(texts)); err != nil || n != want {
		t.Errorf("%d bytes, not %d: %v", n, want, err)
	}
	made := int64(0)
	err := incrementalTexts(b, len(texts), make([]byte, len(b)), func(i int, s []byte, again bool) error {
		if string(s) != texts[i] || again != (i > 0 && texts[i] == texts[i-1]) {
			t.Errorf("text %d: %d bytes, again: %v", i, len(s), again)
		}
		if !again {
			made += int64(len(s))
		}
		return nil
	})
	if err != nil || made != want {
		t.Error(made, err)
	}
}

func TestHalfPrecision(t *testing.T) {
	for bits, want := range map[uint16]float64{
		0: 0, 0x8000: math.Copysign(0, -1), 0x3c00: 1, 0xc000: -2, 0x7bff: 65504, 0x0400: 0x1p-14, 0x0001: 0x1p-24, 0x83ff: -0x1.ff8p-15,
		0x7c00: math.Inf(1), 0xfc00: math.Inf(-1), 0x3555: 0.333251953125,
	} {
		if got := half(bits); got != want || math.Signbit(got) != math.Signbit(want) {
			t.Errorf("%#x is %v, not %v", bits, got, want)
		}
	}
	if !math.IsNaN(half(0x7e00)) {
		t.Error("not a number is one")
	}
}

// FuzzDelta: no bytes make a decoder panic or visit more than it was asked for; what counts texts and what makes them agree.
func FuzzDelta(f *testing.F) {
	f.Add(byte(0), uint16(4), deltaList([]int64{5, 6, 9, 2}, 128, 4, false))
	f.Add(byte(1), uint16(3), deltaList([]int64{math.MinInt64, math.MaxInt64, 0}, 128, 4, false))
	f.Add(byte(2), uint16(3), append(deltaList([]int64{1, 0, 2}, 128, 4, false), "abc"...))
	f.Add(byte(3), uint16(4), deltaTexts([]string{"x", "xy", "xy", "z"}))
	f.Add(byte(4), uint16(2), deltaTexts([]string{"abcd", "abce"}))
	f.Add(byte(5), uint16(2), []byte{1, 2, 3, 4, 5, 6, 7, 8})
	f.Fuzz(func(t *testing.T, what byte, n uint16, b []byte) {
		count := int(n)
		visits := 0
		visit := func(i int, s []byte, again bool) error {
			if i != visits || len(s) > len(b) {
				t.Fatal("a text out of order, or longer than its page")
			}
			visits++
			return nil
		}
		switch w := (worker{arena: &arena{limit: 1 << 24}}); what % 6 {
		case 0:
			_ = deltaNumbers(b, make([]int32, count))
		case 1:
			_ = deltaNumbers(b, make([]int64, count))
		case 2:
			if err := cutTexts(b, count, visit); err == nil && visits != count {
				t.Fatal("a text is missing")
			}
		case 3:
			_, counted := textBytes(b, count)
			err := incrementalTexts(b, count, make([]byte, len(b)), visit)
			if (err == nil) != (counted == nil) || err == nil && visits != count {
				t.Fatal(err, counted, visits)
			}
		default:
			leaf := &pagewalk.Leaf{Type: pagewalk.FixedLen, TypeLen: 4}
			enc := int8(pagewalk.EncDeltaBytes)
			if what%6 == 5 {
				enc = pagewalk.EncStreamSplit
			}
			var hold holding
			if out, err := w.decoded(leaf, enc, b, count, &hold); err == nil && len(out) != 4*count {
				t.Fatal("bytes are missing")
			}
		}
	})
}

// TestTextsOfADomainAreNotCopied: a column that is compared with a domain takes no memory for the texts of it. What a table needs
// stays the same.
func TestTextsOfADomainAreNotCopied(t *testing.T) {
	var domain, texts []string
	for i := range 8 {
		domain = append(domain, strings.Repeat("x", 1<<18)+strings.Repeat("y", i))
	}
	for i := range 400 {
		texts = append(texts, domain[i%8])
	}
	page := deltaTexts(texts)
	for _, c := range []struct {
		known map[string]string
		fits  bool
	}{{nil, false}, {NewDomain(domain), true}, {NewDomain(domain[:2]), false}} {
		var hold holding
		in := interner{arena: &arena{limit: 1 << 20}, hold: &hold, known: c.known}
		err := incrementalTexts(page, len(texts), make([]byte, len(page)), func(i int, s []byte, _ bool) error {
			k, err := in.code(s)
			if err == nil && in.texts[k] != texts[i] {
				t.Fatalf("text %d is another", i)
			}
			return err
		})
		if (err == nil) != c.fits {
			t.Error(err, hold.bytes)
		}
	}
}
