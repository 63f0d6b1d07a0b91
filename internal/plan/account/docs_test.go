package account

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/tier"
)

var examples = regexp.MustCompile("(?s)```yaml\n(.*?)```\n\n```text\n(.*?)```")

// TestDocumentation runs every question of some pages and compares what they say that
// it prints. With -update it writes what is printed.
func TestDocumentation(t *testing.T) {
	documented(t, "../../../docs/account.md", 4)
	documented(t, "../../../lab/studies/energy.md", 3)
}

func documented(t *testing.T, path string, least int) {
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := examples.FindAllSubmatchIndex(page, -1)
	if len(found) < least {
		t.Fatalf("%s: only %d examples", path, len(found))
	}
	found = tier.Some(found, 4)
	var anew bytes.Buffer
	last := 0
	for _, at := range found {
		question, says := string(page[at[2]:at[3]]), string(page[at[4]:at[5]])
		_, out, errs := run(question, Options{})
		prints := strings.ReplaceAll(out+errs, "stdin:", "question.yaml:")
		anew.Write(page[last:at[4]])
		anew.WriteString(prints)
		last = at[5]
		if g, w := form(prints), form(says); !*update && g != w {
			t.Errorf("%s\nprints\n%s\nand the page says\n%s", question, prints, says)
		}
	}
	anew.Write(page[last:])
	if *update {
		if err := os.WriteFile(path, anew.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
