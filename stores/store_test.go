package main_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/data/store"
	"github.com/dprelease/dprelease/stores/storetest"
)

// An object is read in whole ranges: what was asked for is what the store has, each byte is asked for once, and after
// Freeze nothing is.
func TestObject(t *testing.T) {
	s := storetest.Start(t)
	data := make([]byte, 20<<20)
	_, _ = rand.Read(data)
	s.Put(t, "dir/big", data)
	b, key, err := store.Open(t.Context(), s.Address("dir/big"))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	o, err := b.Object(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	same := func(off, n int64) {
		t.Helper()
		got := make([]byte, n)
		if _, err := o.ReadAt(got, off); err != nil || !bytes.Equal(got, data[off:off+n]) {
			t.Fatalf("%d bytes at %d: %v", n, off, err)
		}
	}
	same(int64(len(data))-8, 8) // a footer
	if err := o.Fetch(t.Context(), []store.Range{{Off: 5, Size: 9 << 20}, {Off: 12 << 20, Size: 1}, {Off: 8 << 20, Size: 2 << 20}}); err != nil {
		t.Fatal(err)
	}
	before := s.Requests()
	same(5, 9<<20)
	same(12<<20, 1)
	o.Freeze()
	if _, err := o.ReadAt(make([]byte, 1), 11<<20); err == nil {
		t.Error("a part that nobody announced was read")
	}
	if n := len(s.Requests()) - len(before); n != 0 {
		t.Errorf("%d requests after all was fetched", n)
	}
	if n := s.Sent(); n > 11<<20 {
		t.Errorf("%d bytes were sent", n)
	}

	other, err := b.Object(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	s.Put(t, "dir/big", data[1:])
	if err := other.Fetch(t.Context(), []store.Range{{Off: 0, Size: 10}}); !errors.Is(err, store.ErrChanged) {
		t.Errorf("an object that changed: %v", err)
	}
}

func TestCreate(t *testing.T) {
	s := storetest.Start(t)
	b, _, err := store.Open(t.Context(), s.Address(""))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := b.Create(t.Context(), "out/a", []byte("one")); err != nil {
		t.Fatal(err)
	}
	if err := b.Create(t.Context(), "out/a", []byte("two")); !errors.Is(err, store.ErrThere) {
		t.Errorf("a second time: %v", err)
	}
	if got, err := b.Read(t.Context(), "out/a"); err != nil || string(got) != "one" {
		t.Errorf("%q %v", got, err)
	}
	if _, err := b.Read(t.Context(), "out/b"); !errors.Is(err, store.ErrMissing) {
		t.Errorf("what is not there: %v", err)
	}
	if all, err := b.List(t.Context(), "out/", 0); err != nil || len(all) != 1 || all[0].Key != "out/a" {
		t.Errorf("%v %v", all, err)
	}
}

// A store that refuses, or is not there, is told in fixed words.
func TestWords(t *testing.T) {
	s := storetest.Start(t)
	for text, want := range map[string]error{
		strings.Replace(s.Address("x"), "s3://", "s9://", 1): store.ErrDriver, "s3://id:secret@b/x": store.ErrAddress, s.Address("x") + "&nonsense=1": store.ErrAddress,
	} {
		if _, _, err := store.Open(t.Context(), text); !errors.Is(err, want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
