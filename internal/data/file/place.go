package file

import "path/filepath"

// Real returns an absolute path without links, as far as they lead anywhere.
func Real(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if found, err := filepath.EvalSymlinks(path); err == nil {
		return found
	}
	if parent := filepath.Dir(path); parent != path {
		return filepath.Join(Real(parent), filepath.Base(path))
	}
	return path
}

// Within reports whether a path is a folder or lies in it. It follows no links.
func Within(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}
