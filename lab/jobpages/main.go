// Command jobpages writes the reference in docs/job.md from the declarations of the job language. Its argument is
// the root of the repository.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: jobpages ROOT")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "jobpages:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	file := filepath.Join(root, "docs", "job.md")
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text, err := insertReference(string(old))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, []byte(text), 0o644)
}
