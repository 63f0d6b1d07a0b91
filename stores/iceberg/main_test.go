package iceberg_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/dprelease/dprelease/internal/data/store/call"
	"github.com/dprelease/dprelease/stores/storetest"
)

// The tables are opened as the program opens them: through the companion, which stands beside the tests.
func TestMain(m *testing.M) {
	self, err := os.Executable()
	if err == nil {
		err = storetest.Build(filepath.Join(filepath.Dir(self), call.Program))
	}
	if err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
