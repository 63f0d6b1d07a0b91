package artifact

import (
	"archive/tar"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/dprelease/dprelease/internal/data/file"
	"github.com/dprelease/dprelease/internal/data/store"
	"github.com/dprelease/dprelease/internal/data/store/call"
)

// Scheme begins the name of an artifact in a registry: oci://REGISTRY/REPOSITORY:TAG or @DIGEST.
const Scheme = "oci://"

// layoutFile lies at the root of every OCI layout.
const layoutFile = "oci-layout"

// Is reports whether a source is an OCI artifact: a name in a registry, or an OCI layout.
func Is(source string) bool {
	if strings.HasPrefix(source, Scheme) {
		return true
	}
	if _, err := os.Stat(filepath.Join(source, layoutFile)); err == nil {
		return true
	}
	return archived(source)
}

// archived reports whether a file is a tar archive that holds an OCI layout.
func archived(path string) bool {
	f, err := file.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if err != nil {
			return false
		}
		if strings.TrimPrefix(h.Name, "./") == layoutFile {
			return true
		}
	}
}

// Fetch writes the files of an artifact into a folder, and returns its name with the digest of its
// manifest. Plain speaks HTTP to a registry, without TLS.
func Fetch(ctx context.Context, source, folder string) (name string, err error) {
	a, err := store.Ask(ctx, call.Request{Kind: call.Artifact, Address: source, Key: folder})
	switch {
	case errors.Is(err, store.ErrProgram):
		return "", errors.New("the program " + call.Program + " fetches it: it must stand in the same folder as this program, " +
			"and does not, or does not start (make build makes both)")
	case err != nil:
		return "", err
	case a.Refused != nil:
		return "", errors.New(a.Refused.Detail)
	}
	return string(a.Data), nil
}
