package artifact

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/file"
	"oras.land/oras-go/v2/content/oci"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/retry"

	"github.com/dprelease/dprelease/internal/plugin/catalog/artifact"
)

// maxBytes bounds all files of an artifact together.
const maxBytes = 1 << 30

// Fetch writes the files of an artifact into a folder, and returns its name with the digest of its
// manifest. Plain speaks HTTP to a registry, without TLS.
func Fetch(ctx context.Context, source, folder string) (name string, err error) {
	from, reference, err := open(ctx, source)
	if err != nil {
		return "", err
	}
	to, err := file.NewWithFallbackLimit(folder, 4<<20)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	var bytes int64
	options := oras.DefaultCopyOptions
	options.PreCopy = func(_ context.Context, d ocispec.Descriptor) error {
		if bytes += d.Size; bytes > maxBytes {
			return errors.New("it holds more than a gigabyte")
		}
		return nil
	}
	manifest, err := oras.Copy(ctx, from, reference, to, reference, options)
	if err != nil {
		return "", err
	}
	if err := runnable(folder); err != nil {
		return "", err
	}
	source, _, _ = strings.Cut(source, "@")
	return source + "@" + manifest.Digest.String(), nil
}

// open returns the place where an artifact is read, and its reference there.
func open(ctx context.Context, source string) (oras.ReadOnlyTarget, string, error) {
	name, ok := strings.CutPrefix(source, artifact.Scheme)
	if !ok {
		return layout(ctx, source)
	}
	r, err := remote.NewRepository(name)
	if err != nil {
		return nil, "", err
	}
	if r.Reference.Reference == "" {
		return nil, "", errors.New("name a tag or a digest: " + source + ":TAG")
	}
	r.PlainHTTP = onThisMachine(r.Reference.Host())
	client := &auth.Client{Client: retry.DefaultClient, Cache: auth.NewCache()}
	if keys, err := credentials.NewStoreFromDocker(credentials.StoreOptions{}); err == nil {
		client.Credential = credentials.Credential(keys)
	}
	r.Client = client
	return r, r.Reference.Reference, nil
}

// onThisMachine reports whether a registry can only be one of this machine, which needs no TLS.
func onThisMachine(registry string) bool {
	host, _, err := net.SplitHostPort(registry)
	if err != nil {
		host = registry
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// layout is an OCI layout with one artifact.
func layout(ctx context.Context, path string) (oras.ReadOnlyTarget, string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, "", err
	}
	var store *oci.ReadOnlyStore
	if info.IsDir() {
		store, err = oci.NewFromFS(ctx, os.DirFS(path))
	} else {
		store, err = oci.NewFromTar(ctx, path)
	}
	if err != nil {
		return nil, "", err
	}
	var tags []string
	if err := store.Tags(ctx, "", func(some []string) error {
		tags = append(tags, some...)
		return nil
	}); err != nil {
		return nil, "", err
	}
	if len(tags) != 1 {
		return nil, "", fmt.Errorf("the layout must hold one artifact with a tag; it has %d", len(tags))
	}
	return store, tags[0], nil
}

// runnable makes the executable of an artifact executable: a layer keeps the bytes of a file and not its
// mode. It is the only file, or the one with the name plugin.
func runnable(folder string) error {
	var files []string
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case len(files) == 0:
		return errors.New("it has no files with names; push the plugin with oras, not as a container image")
	case len(files) == 1:
		return os.Chmod(files[0], 0o755)
	}
	if path := filepath.Join(folder, "plugin"); exists(path) {
		return os.Chmod(path, 0o755)
	}
	return nil
}

func exists(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}
