// Package blobs asks object storage, s3://, gs:// and azblob://, through gocloud.dev/blob. Its errors are those of
// internal/data/store/call: fixed words, never those of a server.
package blobs
