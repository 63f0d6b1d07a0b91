package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/dprelease/dprelease/internal/data/file"
)

// FilesKey names the environment variable that leads a tree to the files beside its executable.
const FilesKey = "DPRELEASE_PLUGIN_FILES"

// besideFolder returns the folder of a private directory that holds the files beside an
// executable.
func besideFolder(dir string) string { return filepath.Join(dir, "files") }

// Keep copies files of a folder to where the tree can read them and nobody can change them, and
// returns where that is. The digests, by path in the folder, are those of the copies: what
// happens to the folder afterwards changes nothing. The error is ErrDigest where a copy
// does not have its digest.
func (d *Dir) Keep(folder string, digests map[string]string) (string, error) {
	to := besideFolder(d.Path)
	for name, want := range digests {
		if !filepath.IsLocal(name) {
			return "", ErrDigest
		}
		sum, err := copyFile(filepath.Join(folder, name), filepath.Join(to, name))
		if err != nil {
			return "", err
		}
		if !strings.EqualFold(sum, want) {
			return "", ErrDigest
		}
	}
	return to, nil
}

// copyFile copies a regular file, for this user alone to read, and returns the digest of the copy.
func copyFile(from, to string) (string, error) {
	in, err := file.Open(from)
	if err != nil {
		return "", err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return "", err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o400|info.Mode().Perm()&0o100)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, sum), io.LimitReader(in, file.MaxProgram))
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	return hex.EncodeToString(sum.Sum(nil)), err
}
