package pipeline_test

import (
	"os"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/say/failure"
)

// P33: a data set whose size is secret is not compared with a number of the caller's: the job is refused before its table
// is opened. The same job with the right size gets the same answer.
func TestSecretSizeIsNotAskedFor(t *testing.T) {
	table := good(t)
	path := write(t, tinyJob, "TABLE", table, "relation: replace-one", "relation: add-remove", "  size: 4\n", "")
	if _, err := run(t, path); err != nil {
		t.Fatal(err)
	}
	answers := map[string]bool{}
	for _, size := range []string{"4", "5"} {
		text := strings.NewReplacer("size: 4", "size: "+size, "dir: out", "dir: other").Replace(strings.ReplaceAll(tinyJob, "TABLE", table))
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := run(t, path)
		exit, _ := exitOf(err)
		if err == nil || exit != failure.ExitInvalidJob || !strings.Contains(err.Error(), "add-remove alone") {
			t.Errorf("size %s: exit %d: %v", size, exit, err)
		} else {
			answers[err.Error()] = true
		}
	}
	if len(answers) != 1 {
		t.Errorf("the answers differ: %v", answers)
	}
}
