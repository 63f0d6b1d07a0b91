package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// opened are the calls that open a file of any kind.
var opened = regexp.MustCompile(`\bos\.(Open|ReadFile)\(`)

// openers are the files that may call them, with what they open.
var openers = map[string]string{
	"internal/data/file/open.go":                         "everything that a user names",
	"internal/plugin/conformance/process.go":             "/proc",
	"internal/output/index.go":                           "folders",
	"internal/output/system_unix.go":                     "folders",
	"internal/output/system_windows.go":                  "folders",
	"internal/plugin/sandbox/dir_linux.go":               "a folder of its own",
	"internal/plugin/sandbox/executable_linux.go":        "the running program",
	"internal/plugin/sandbox/tree_linux.go":              "/proc",
	"ledger/holder_linux.go":                             "/proc",
	"internal/testkit/postgrestest/server.go":            "files of its own, in tests",
	"internal/testkit/storedtest/folder.go":              "files of its own, in tests",
	"internal/testkit/sabotage/testdata/hostile/main.go": "what a hostile plugin wants",
}

// Whatever a user names is opened by package file: regular files only, and never waiting.
func TestFilesAreOpenedInOnePlace(t *testing.T) {
	const root = "../../.."
	seen := 0
	for _, dir := range []string{"cmd", "internal", "ledger", "pipeline", "plugins", "privacy", "publish", "report", "samplers"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			name := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.Contains(name, "/generate/") {
				return err
			}
			text, err := os.ReadFile(path)
			seen++
			if openers[name] == "" && opened.Match(text) {
				t.Errorf("%s opens a file by itself: use internal/data/file", name)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < 500 {
		t.Errorf("only %d files were looked at", seen)
	}
}
