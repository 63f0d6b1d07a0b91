package testdir

import (
	"os"
	"path/filepath"
	"testing"
)

// A folder is empty and writable, and gone after the test.
func TestNew(t *testing.T) {
	dir := ""
	t.Run("inner", func(t *testing.T) {
		dir = New(t)
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Error(left, err)
		}
		if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o600); err != nil {
			t.Error(err)
		}
	})
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", dir, err)
	}
}
