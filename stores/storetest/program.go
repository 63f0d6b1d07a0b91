package storetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/dprelease/dprelease/internal/data/store/call"
)

// Beside builds the companion into the folder of the test's own program, where the packages under test look for it.
func Beside(t testing.TB) {
	t.Helper()
	if err := build(); err != nil {
		t.Fatal(err)
	}
}

var build = sync.OnceValue(func() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return Build(filepath.Join(filepath.Dir(self), call.Program))
})

// Build builds the companion as a file.
func Build(path string) error {
	cmd := exec.Command("go", "build", "-o", path, "github.com/dprelease/dprelease/stores")
	cmd.Stderr = os.Stderr
	return cmd.Run()
}
