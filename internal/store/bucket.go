package store

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/dprelease/dprelease/internal/store/address"
)

// The errors of this package. Their texts are fixed, because those of a server may name keys and values.
var (
	ErrAddress  = errors.New("is not the address of an object: write scheme://bucket/key, with options after a question mark and without credentials")
	ErrDriver   = errors.New("is the address of a store that this program does not know: it knows s3://, gs:// and azblob://")
	ErrMissing  = errors.New("is not there")
	ErrRefused  = errors.New("is refused by the store: give credentials as its own tools take them (environment, profile, workload identity)")
	ErrAnswer   = errors.New("failed: the store does not answer as it should")
	ErrChanged  = errors.New("changed while it was read")
	ErrThere    = errors.New("is there already")
	ErrScratch  = errors.New("cannot be kept in the folder of temporary files: make room there, or name another one (TMPDIR)")
	errUnfrozen = errors.New("was asked for a part that was not announced")
)

// Bucket is an open bucket. Root is its address without options.
type Bucket struct {
	Root  string
	blobs *blob.Bucket
}

// Open opens the bucket of an address, and returns the key.
func Open(ctx context.Context, text string) (*Bucket, string, error) {
	root, key, options, ok := address.Split(text)
	if !ok {
		return nil, "", ErrAddress
	}
	scheme, _, _ := strings.Cut(root, "://")
	if !blob.DefaultURLMux().ValidBucketScheme(scheme) {
		return nil, "", ErrDriver
	}
	at := root
	if options != "" {
		at += "?" + options
	}
	b, err := blob.OpenBucket(ctx, at)
	if err != nil {
		return nil, "", failed(ctx, err, ErrAddress)
	}
	return &Bucket{Root: root, blobs: b}, key, nil
}

// Close closes the bucket.
func (b *Bucket) Close() { _ = b.blobs.Close() }

// failed translates an error of a store.
func failed(ctx context.Context, err, otherwise error) error {
	switch code := gcerrors.Code(err); {
	case ctx.Err() != nil:
		return ctx.Err()
	case code == gcerrors.NotFound:
		return ErrMissing
	case code == gcerrors.PermissionDenied:
		return ErrRefused
	case code == gcerrors.FailedPrecondition, code == gcerrors.AlreadyExists:
		return ErrThere
	}
	return otherwise
}

// Listed is an entry of a listing.
type Listed struct {
	Key      string
	Size     int64
	Modified time.Time
}

// List lists the objects whose keys begin with prefix, in the order of their keys. most bounds their number; 0 means all.
func (b *Bucket) List(ctx context.Context, prefix string, most int) (all []Listed, err error) {
	it := b.blobs.List(&blob.ListOptions{Prefix: prefix})
	for most == 0 || len(all) < most {
		o, err := it.Next(ctx)
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, failed(ctx, err, ErrAnswer)
		}
		if !o.IsDir && !strings.HasSuffix(o.Key, "/") { // some tools make empty objects for folders
			all = append(all, Listed{o.Key, o.Size, o.ModTime})
		}
	}
	return all, nil
}

// Read reads a whole object.
func (b *Bucket) Read(ctx context.Context, key string) ([]byte, error) {
	text, err := b.blobs.ReadAll(ctx, key)
	if err != nil {
		return nil, failed(ctx, err, ErrAnswer)
	}
	return text, nil
}

// Create makes a new object, whole or not at all.
func (b *Bucket) Create(ctx context.Context, key string, data []byte) error {
	if err := b.blobs.WriteAll(ctx, key, data, &blob.WriterOptions{IfNotExist: true, ContentType: "application/octet-stream"}); err != nil {
		return failed(ctx, err, ErrAnswer)
	}
	return nil
}
