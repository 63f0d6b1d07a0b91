// Command generate writes the table of codes into docs/exit-codes.md. Its argument is
// the root of the repository.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/dprelease/dprelease/internal/failure"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: generate ROOT")
		os.Exit(2)
	}
	if err := run(filepath.Join(os.Args[1], "docs", "exit-codes.md")); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(path string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text, err := failure.InsertCodes(string(page))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
