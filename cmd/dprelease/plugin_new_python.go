package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"text/template"

	"github.com/dprelease/dprelease/plugins/python"
)

// pythonFiles of a new plugin, by the template that makes them.
func pythonFiles(name string) map[string]string {
	return map[string]string{"main.py.tmpl": "__main__.py", "mechanism.py.tmpl": "mechanism.py", "proof.md.tmpl": name + ".proof.md"}
}

// writePython writes a mechanism in Python with the SDK beside it.
func writePython(dir, name string) error {
	t, err := template.ParseFS(skeleton, "skeleton/python/*.tmpl", "skeleton/proof.md.tmpl")
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists; nothing was written", dir)
	} else if err != nil {
		return err
	}
	if err := os.CopyFS(dir, python.SDK); err != nil {
		return err
	}
	for from, to := range pythonFiles(name) {
		f, err := os.Create(filepath.Join(dir, to))
		if err != nil {
			return err
		}
		if err := errors.Join(t.ExecuteTemplate(f, from, struct{ Name string }{name}), f.Close()); err != nil {
			return err
		}
	}
	return nil
}
