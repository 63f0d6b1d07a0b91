// Package store reads tables from object storage and puts releases there: s3://, gs:// and azblob:// addresses,
// through gocloud.dev/blob. The drivers of the stores are no part of it: the program that wants one imports it
// (gocloud.dev/blob/s3blob and the like), and an address without a driver is refused.
//
// # What it promises
//
// An Object is read by whole ranges that its caller names before it looks at a value, into a nameless file of this machine. After Fetch
// and Freeze nothing more is asked of the store, so its log shows which columns were read and nothing of a draw (P19). All
// that was read is of one version: its ETag is compared before the first range and after the last.
//
// Credentials are those that the stores' own tools take, from the environment or its files. An address that holds one is
// refused, and neither they nor the words of a server are part of a failure.
//
// # What it may import
//
// gocloud.dev/blob and nameless. No driver.
package store
