// Command jobpages writes what follows from the declarations of the job
// language: the JSON Schema, the reference in docs/job.md, and docs/what-goes-together.md. Its argument is
// the root of the repository.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/dprelease/dprelease/internal/job/language"
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
	schema, err := language.Schema()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(root, "specs", "job-v1.schema.json"), schema, 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(root, "docs", "what-goes-together.md"), []byte(language.TogetherPage()), 0o644); err != nil {
		return err
	}
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
