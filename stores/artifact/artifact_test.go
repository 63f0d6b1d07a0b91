package artifact

import (
	"archive/tar"
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/file"
	"oras.land/oras-go/v2/content/oci"

	core "github.com/dprelease/dprelease/internal/plugin/catalog/artifact"
)

// pushed is an OCI layout with one artifact of these files.
func pushed(t *testing.T, files map[string]string) string {
	t.Helper()
	from, dir := t.TempDir(), t.TempDir()
	src, err := file.New(from)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var layers []ocispec.Descriptor
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := src.Add(t.Context(), name, "application/octet-stream", "")
		if err != nil {
			t.Fatal(err)
		}
		layers = append(layers, d)
	}
	root, err := oras.PackManifest(t.Context(), src, oras.PackManifestVersion1_1, "application/vnd.dprelease.plugin", oras.PackManifestOptions{Layers: layers})
	if err == nil {
		err = src.Tag(t.Context(), root, "1.0.0")
	}
	if err != nil {
		t.Fatal(err)
	}
	to, err := oci.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := oras.Copy(t.Context(), src, "1.0.0", to, "1.0.0", oras.DefaultCopyOptions); err != nil {
		t.Fatal(err)
	}
	return dir
}

// archive is a layout as a tar file.
func archive(t *testing.T, dir string) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.AddFS(os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "plugin.tar")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// registry serves a layout as the repository "plugins/total".
func registry(t *testing.T, dir string) string {
	t.Helper()
	store, err := oci.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, reference, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v2/plugins/total/"), "/")
		d, err := store.Resolve(r.Context(), reference)
		path := filepath.Join(dir, "blobs", strings.Replace(reference, ":", "/", 1))
		if err == nil {
			path = filepath.Join(dir, "blobs", "sha256", d.Digest.Encoded())
			w.Header().Set("Content-Type", d.MediaType)
			w.Header().Set("Docker-Content-Digest", d.Digest.String())
		}
		http.ServeFile(w, r, path)
	}))
	t.Cleanup(s.Close)
	return core.Scheme + strings.TrimPrefix(s.URL, "http://") + "/plugins/total:1.0.0"
}

func TestFetch(t *testing.T) {
	dir := pushed(t, map[string]string{"total": "#!/bin/sh\n"})
	for _, source := range []string{dir, archive(t, dir), registry(t, dir)} {
		to := t.TempDir()
		if !core.Is(source) {
			t.Errorf("%s is no artifact", source)
		}
		name, err := Fetch(t.Context(), source, to)
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		if !strings.HasPrefix(name, source+"@sha256:") {
			t.Errorf("it is called %s", name)
		}
		info, err := os.Stat(filepath.Join(to, "total"))
		if err != nil || info.Mode().Perm()&0o111 == 0 || info.Size() != 10 {
			t.Errorf("%s: %v, %v", source, info, err)
		}
	}
}

// A byte that is not what the manifest says is not taken.
func TestDigest(t *testing.T) {
	dir := pushed(t, map[string]string{"total": "#!/bin/sh\n"})
	blobs, _ := filepath.Glob(filepath.Join(dir, "blobs", "sha256", "*"))
	for _, b := range blobs {
		text, err := os.ReadFile(b)
		if err != nil {
			t.Fatal(err)
		}
		if string(text) == "#!/bin/sh\n" {
			_ = os.Chmod(b, 0o600)
			if err := os.WriteFile(b, []byte("#!/bin/ed\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := Fetch(context.Background(), dir, t.TempDir()); err == nil {
		t.Error("a changed file is taken")
	}
}

func TestRefused(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(plain, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if core.Is(plain) || core.Is(t.TempDir()) || core.Is("/nonexistent") {
		t.Error("what is no layout is taken for one")
	}
	empty := pushed(t, nil)
	if _, err := Fetch(t.Context(), empty, t.TempDir()); err == nil || !strings.Contains(err.Error(), "no files") {
		t.Errorf("an artifact without files: %v", err)
	}
	for _, name := range []string{"oci://", "oci://x", "oci://localhost/x"} {
		if _, err := Fetch(t.Context(), name, t.TempDir()); err == nil {
			t.Errorf("%s is fetched", name)
		}
	}
	outside := pushed(t, map[string]string{"a": "1", "b": "2"})
	if _, err := Fetch(t.Context(), outside, t.TempDir()); err != nil {
		t.Errorf("two files: %v", err)
	}
}

// Only a registry of this machine may be without TLS.
func TestPlainRegistriesAreOfThisMachine(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost:5000": true, "127.0.0.1:5000": true, "127.0.0.2": true, "[::1]:5000": true,
		"registry.example": false, "registry.example:5000": false, "10.0.0.1:5000": false, "localhost.example:80": false, "0.0.0.0:80": false, "": false,
	} {
		if got := onThisMachine(host); got != want {
			t.Errorf("%s: %v", host, got)
		}
	}
}
