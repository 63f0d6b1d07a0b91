package ledger

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
)

// File is one file of an output folder.
type File struct {
	Path string // a plain name
	Mode fs.FileMode
	Data []byte
}

// Sum is the digest of one file.
type Sum struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// maxArchive is the largest output that is stored: SQLite refuses values of 1 GB.
const maxArchive = 900 << 20

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// pack writes files as a tar archive without times or owners: the same files give
// the same bytes.
func pack(files []File) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		if !plain(f.Path) {
			return nil, refuse(CodeTooLarge, "an output file has a name that is not plain")
		}
		h := &tar.Header{Name: f.Path, Mode: int64(f.Mode.Perm()), Size: int64(len(f.Data)), Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.Data); err != nil {
			return nil, err
		}
		if b.Len() > maxArchive {
			return nil, refuse(CodeTooLarge, "the releases are larger than a ledger can store (%d MiB)", maxArchive>>20)
		}
	}
	return b.Bytes(), w.Close()
}

var errArchive = refuse(CodeTampered, "the stored bytes of a release cannot be read")

func unpack(archive []byte) ([]File, error) {
	r := tar.NewReader(bytes.NewReader(archive))
	var out []File
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil || h.Typeflag != tar.TypeReg || !plain(h.Name) || h.Size < 0 || h.Size > int64(len(archive)) {
			return nil, errArchive
		}
		data := make([]byte, h.Size)
		if _, err := io.ReadFull(r, data); err != nil {
			return nil, errArchive
		}
		out = append(out, File{Path: h.Name, Mode: fs.FileMode(h.Mode).Perm(), Data: data})
	}
}

// plain reports whether a name is one file in a folder, and nothing else.
func plain(name string) bool {
	return name != "" && name != "." && name != ".." && filepath.Base(name) == name && filepath.IsLocal(name)
}
