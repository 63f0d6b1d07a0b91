package blobs

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob"
	_ "gocloud.dev/blob/azureblob" // azblob://
	_ "gocloud.dev/blob/gcsblob"   // gs://
	_ "gocloud.dev/blob/s3blob"    // s3://
	"gocloud.dev/gcerrors"
	"golang.org/x/sync/errgroup"

	"github.com/dprelease/dprelease/internal/data/store/address"
	"github.com/dprelease/dprelease/internal/data/store/call"
)

// Bucket is an open bucket.
type Bucket struct{ blobs *blob.Bucket }

// Open opens the bucket at an address.
func Open(ctx context.Context, text string) (*Bucket, error) {
	if unencrypted(text, os.Getenv) {
		return nil, call.ErrUntrusted
	}
	b, err := blob.OpenBucket(ctx, text)
	if err != nil {
		return nil, failed(ctx, err, call.ErrAddress)
	}
	// The endpoint of S3 may stand in the environment and in files: the client knows which of them it took.
	var client *s3.Client
	if b.As(&client) && !names(text) {
		if at := client.Options().BaseEndpoint; at != nil && address.Unencrypted("?endpoint="+url.QueryEscape(*at)) {
			_ = b.Close()
			return nil, call.ErrUntrusted
		}
	}
	return &Bucket{b}, nil
}

// names reports whether an address names its endpoint. Then it says itself that rows may travel without TLS.
func names(text string) bool {
	_, options, _ := strings.Cut(text, "?")
	return strings.Contains(options, "endpoint=")
}

// unencrypted reports whether the environment would send rows off this machine without TLS, for all stores except S3.
func unencrypted(text string, getenv func(string) string) bool {
	switch scheme, _, _ := strings.Cut(text, "://"); {
	case names(text) || scheme == "s3":
		return false
	case scheme == "gs": // which takes a host and a port without a scheme for an emulator, which has no TLS
		host := getenv("STORAGE_EMULATOR_HOST")
		if host != "" && !strings.Contains(host, "://") {
			host = "http://" + host
		}
		return address.Unencrypted("?endpoint=" + url.QueryEscape(host))
	}
	return getenv("AZURE_STORAGE_PROTOCOL") == "http" && getenv("AZURE_STORAGE_IS_LOCAL_EMULATOR") != "true"
}

// Close closes the bucket.
func (b *Bucket) Close() { _ = b.blobs.Close() }

// failed translates an error of a store. otherwise stands for those that have no name of their own.
func failed(ctx context.Context, err, otherwise error) error {
	if err == nil {
		return nil
	}
	var certificate *tls.CertificateVerificationError
	switch code := gcerrors.Code(err); {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &certificate):
		return call.ErrUntrusted
	case code == gcerrors.NotFound:
		return call.ErrMissing
	case code == gcerrors.PermissionDenied:
		return call.ErrRefused
	case code == gcerrors.FailedPrecondition, code == gcerrors.AlreadyExists:
		return call.ErrThere
	}
	return otherwise
}

// List lists the objects whose keys begin with prefix, in the order of their keys.
func (b *Bucket) List(ctx context.Context, prefix string, most int) (all []call.Listed, err error) {
	it := b.blobs.List(&blob.ListOptions{Prefix: prefix})
	for most == 0 || len(all) < most {
		o, err := it.Next(ctx)
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, failed(ctx, err, call.ErrAnswer)
		}
		if !o.IsDir && !strings.HasSuffix(o.Key, "/") { // some tools make empty objects for folders
			all = append(all, call.Listed{Key: o.Key, Size: o.Size, Modified: o.ModTime})
		}
	}
	return all, nil
}

// Version returns the version that an object has now.
func (b *Bucket) Version(ctx context.Context, key string) (call.Version, error) {
	about, err := b.blobs.Attributes(ctx, key)
	if err != nil {
		return call.Version{}, failed(ctx, err, call.ErrAnswer)
	}
	return call.Version{ETag: about.ETag, Size: about.Size, Modified: about.ModTime}, nil
}

const (
	partBytes = 8 << 20 // the most bytes of one request
	atOnce    = 8       // requests side by side
	copyBytes = 1 << 20 // what is copied at once
)

// Read reads a whole object.
func (b *Bucket) Read(ctx context.Context, key string) ([]byte, error) {
	text, err := b.blobs.ReadAll(ctx, key)
	return text, failed(ctx, err, call.ErrAnswer)
}

// Create makes a new object, whole or not at all.
func (b *Bucket) Create(ctx context.Context, key string, data []byte) error {
	return failed(ctx, b.blobs.WriteAll(ctx, key, data, &blob.WriterOptions{IfNotExist: true, ContentType: "application/octet-stream"}),
		call.ErrAnswer)
}

// Remove removes an object.
func (b *Bucket) Remove(ctx context.Context, key string) error {
	return failed(ctx, b.blobs.Delete(ctx, key), call.ErrAnswer)
}

// Fetch writes ranges of an object into the scratch file, in parallel requests. The object must be of the version that the
// request names, before and after.
func (b *Bucket) Fetch(ctx context.Context, r call.Request, scratch io.WriterAt) error {
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, m := range r.Ranges {
		for ; m.Size > 0; m.Off, m.Size = m.Off+partBytes, m.Size-partBytes {
			one := call.Range{Off: m.Off, Size: min(m.Size, partBytes)}
			group.Go(func() error { return b.part(inner, r, one, scratch) })
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	now, err := b.Version(ctx, r.Key)
	if err == nil && !now.Same(r.Version) {
		err = call.ErrChanged
	}
	return err
}

// part fetches one range.
func (b *Bucket) part(ctx context.Context, r call.Request, one call.Range, scratch io.WriterAt) error {
	in, err := b.blobs.NewRangeReader(ctx, r.Key, one.Off, one.Size, nil)
	if err != nil {
		return failed(ctx, err, call.ErrAnswer)
	}
	defer in.Close()
	if in.Size() != r.Version.Size || !in.ModTime().Equal(r.Version.Modified) {
		return call.ErrChanged
	}
	out := &writer{file: scratch, at: r.At + one.Off}
	n, err := io.CopyBuffer(out, io.LimitReader(in, one.Size), make([]byte, min(one.Size, copyBytes)))
	switch {
	case out.failed:
		return call.ErrScratch
	case err != nil || n != one.Size:
		return failed(ctx, cause(err), call.ErrAnswer)
	}
	return nil
}

// cause returns err, or an error for an answer that was too short.
func cause(err error) error {
	if err == nil {
		return io.ErrUnexpectedEOF
	}
	return err
}

// writer writes to a stretch of a file.
type writer struct {
	file   io.WriterAt
	at     int64
	failed bool
}

func (w *writer) Write(b []byte) (int, error) {
	n, err := w.file.WriteAt(b, w.at)
	w.at += int64(n)
	w.failed = w.failed || err != nil
	return n, err
}
