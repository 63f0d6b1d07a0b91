package unlinked

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func made(t *testing.T, dir string) *File {
	t.Helper()
	f, err := New(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestNothingToSee(t *testing.T) {
	dir := t.TempDir()
	f := made(t, dir)
	secret := []byte(strings.Repeat("a row of somebody; ", 1000))
	at, err := f.Append(secret)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, len(secret))
	if _, err := f.ReadAt(b, at); err != nil || !bytes.Equal(b, secret) {
		t.Fatal("another text was read", err)
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) > 0 {
		t.Fatalf("the folder holds %v, %v", all, err)
	}
	raw, key := f.Share()
	if _, err := raw.ReadAt(b, at); err != nil {
		t.Fatal(err)
	}
	seen := map[byte]int{}
	for _, c := range b {
		seen[c]++
	}
	if bytes.Contains(b, []byte("row")) || len(seen) != 256 {
		t.Errorf("the disk shows the text: %d different bytes", len(seen))
	}
	if text := fmt.Sprintf("%v %+v %#v %s", f, f, f, f); strings.Contains(text, fmt.Sprint(key[0])+" ") {
		t.Error("the key is printed: ", text)
	}
	if other := made(t, dir); bytes.Equal(key, other.key) {
		t.Error("two files have one key")
	}
}

// Whatever the places at which something is written and read, it is the same.
func TestEveryPlace(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	f := made(t, t.TempDir())
	want := make([]byte, 300_000)
	for i := range want {
		want[i] = byte(r.Uint32())
	}
	f.Reserve(int64(len(want)))
	var wg sync.WaitGroup
	for first := 0; first < len(want); {
		n := min(1+r.IntN(100_000), len(want)-first)
		at := first
		wg.Go(func() {
			if n, err := f.WriteAt(want[at:at+n], int64(at)); err != nil {
				t.Error(n, err)
			}
		})
		first += n
	}
	wg.Wait()
	raw, key := f.Share()
	again, err := Open(raw, key)
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		at := r.IntN(len(want))
		got := make([]byte, r.IntN(len(want)-at+1))
		if _, err := again.ReadAt(got, int64(at)); err != nil || !bytes.Equal(got, want[at:at+len(got)]) {
			t.Fatalf("%d bytes at %d: %v", len(got), at, err)
		}
	}
	if n, err := again.ReadAt(make([]byte, 20), int64(len(want)-5)); n != 5 || err != io.EOF {
		t.Errorf("%d bytes behind the end, %v", n, err)
	}
	if _, err := Open(raw, key[1:]); err == nil {
		t.Error("a short key is taken")
	}
}

func TestErrorsAreFixed(t *testing.T) {
	if _, err := New(filepath.Join(t.TempDir(), "not there")); err != ErrUnusable {
		t.Error(err)
	}
	device, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip("this system has no device that is full")
	}
	full, err := Open(device, make([]byte, KeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	if _, err := full.Append([]byte("x")); err != ErrFull {
		t.Error(err)
	}
}
