package catalog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dprelease/dprelease/internal/data/file"
)

// Store copies a plugin, a file or a folder, to where the catalog keeps its own: an author
// who changes the file changes nothing. It returns an entry with the paths and digests. Done ends it.
func (c *Catalog) Store(source string) (e Entry, err error) {
	defer func() {
		if err != nil {
			c.Done(false)
		}
	}()
	info, err := os.Stat(source)
	if err != nil {
		return Entry{}, err
	}
	main := source
	if info.IsDir() {
		if main, err = executable(source); err != nil {
			return Entry{}, err
		}
	}
	sum, err := file.Digest(main, file.MaxProgram)
	if err != nil {
		return Entry{}, err
	}
	base := filepath.Join("plugins", sum)
	c.sweep()
	if err := c.begin(filepath.Join(c.Folder(), base)); err != nil {
		return Entry{}, err
	}
	e = Entry{SHA256: sum, Path: filepath.Join(base, filepath.Base(main))}
	if !info.IsDir() {
		if err := copyFile(main, filepath.Join(c.Folder(), e.Path), 0o755); err != nil {
			return Entry{}, err
		}
	} else if err := c.storeFolder(source, base, &e); err != nil {
		return Entry{}, err
	}
	if program := Interpreter(main); program != "" {
		if e.Files == nil {
			e.Files = map[string]string{}
		}
		if e.Files[program], err = file.Digest(program, file.MaxProgram); err != nil {
			return Entry{}, fmt.Errorf("its interpreter %s cannot be read", program)
		}
	}
	return e, e.Intact(c.Folder())
}

// storeFolder copies all regular files of a folder.
func (c *Catalog) storeFolder(source, base string, e *Entry) error {
	e.Files = map[string]string{}
	return filepath.WalkDir(source, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is neither a file nor a folder", path)
		}
		rel, err := filepath.Rel(source, path)
		if err != nil {
			return err
		}
		name := filepath.Join(base, rel)
		if err := copyFile(path, filepath.Join(c.Folder(), name), info.Mode().Perm()&0o755|0o444); err != nil {
			return err
		}
		if name == e.Path {
			return nil
		}
		e.Files[name], err = file.Digest(filepath.Join(c.Folder(), name), file.MaxProgram)
		return err
	})
}

// executable is the one executable file of a folder, or the one with the name plugin.
func executable(folder string) (string, error) {
	all, err := os.ReadDir(folder)
	if err != nil {
		return "", err
	}
	var found []string
	for _, d := range all {
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			continue
		}
		if d.Name() == "plugin" {
			return filepath.Join(folder, d.Name()), nil
		}
		found = append(found, d.Name())
	}
	if len(found) != 1 {
		return "", errors.New("the folder must hold one executable file, or one with the name plugin")
	}
	return filepath.Join(folder, found[0]), nil
}

func copyFile(from, to string, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	in, err := file.Bounded(from, file.MaxProgram)
	if err != nil {
		return err
	}
	defer in.Close()
	// The bytes of a digest do not change: what is there is replaced by the same.
	out, err := os.CreateTemp(filepath.Dir(to), ".new-")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name())
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Chmod(mode), out.Sync(), out.Close()); err != nil {
		return err
	}
	return os.Rename(out.Name(), to)
}
