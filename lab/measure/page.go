package measure

import (
	"fmt"
	"os"
	"strings"
)

// Rewrite replaces what stands between two lines of a page.
func Rewrite(page, begin, end, text string) error {
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, begins := strings.Cut(string(old), begin)
	_, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		return fmt.Errorf("%s has no place for the text", page)
	}
	return os.WriteFile(page, []byte(before+begin+text+end+after), 0o644)
}
