// Package store reads tables from object storage and puts releases there: s3://, gs:// and azblob:// addresses. A
// companion, the program dprelease-stores, speaks to the stores: their drivers are not in this program. It is started from
// this program's own folder and from nowhere else, because it is handed rows.
//
// # What it promises
//
// The caller of an Object names whole ranges before it looks at a value, and the companion fetches them into a file of package
// nameless on this machine, whose key it is told. After Fetch and Freeze this program asks for nothing more, so the store's
// log shows which columns were read and nothing of a draw (P19). All ranges are of one version: the companion compares it
// before the first and after the last.
//
// Credentials come from the environment or the files of the stores' own tools. An address that holds one is refused. No
// error holds a credential or the words of a server.
//
// # What it may import
//
// internal/data/unlinked and the standard library.
package store
