package nameless

import (
	"os"
	"testing"
)

func TestNothingToSee(t *testing.T) {
	dir := t.TempDir()
	f, err := File(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte("secret"), 10); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 6)
	if _, err := f.ReadAt(b, 10); err != nil || string(b) != "secret" {
		t.Fatalf("%q, %v", b, err)
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) > 0 {
		t.Fatalf("the folder holds %v, %v", all, err)
	}
}
