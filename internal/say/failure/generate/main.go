// Command generate writes the tables of codes into docs/exit-codes.md and docs/what-leaves.md. Its argument is
// the root of the repository.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/dprelease/dprelease/internal/say/failure/pages"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: generate ROOT")
		os.Exit(2)
	}
	for name, insert := range map[string]func(string) (string, error){"exit-codes.md": pages.InsertCodes,
		"what-leaves.md": pages.InsertTales} {
		if err := run(filepath.Join(os.Args[1], "docs", name), insert); err != nil {
			fmt.Fprintln(os.Stderr, "generate:", err)
			os.Exit(1)
		}
	}
}

func run(path string, insert func(string) (string, error)) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text, err := insert(string(page))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
