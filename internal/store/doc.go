// Package store reads tables from object storage and puts releases there: s3://, gs:// and azblob:// addresses,
// through gocloud.dev/blob. The drivers of the stores are no part of it: the program that wants one imports it
// (gocloud.dev/blob/s3blob and the like), and an address without a driver is refused.
//
// # What it promises
//
// The caller of an Object names whole ranges before it looks at a value, and the Object fetches them into a nameless file of
// this machine. After Fetch and Freeze it asks the store for nothing more, so the store's log shows which columns were read
// and nothing of a draw (P19). All ranges are of one version: the ETag is compared before the first and after the last.
//
// Credentials come from the environment or the files of the stores' own tools. An address that holds one is refused. No
// error holds a credential or the words of a server.
//
// # What it may import
//
// gocloud.dev/blob and nameless. No driver.
package store
