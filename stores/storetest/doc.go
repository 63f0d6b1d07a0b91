// Package storetest starts a server of the S3 protocol on this machine, for tests. It keeps objects in memory, and notes what it was asked.
// It is imported by tests only, and brings the driver of s3:// with it.
package storetest
