// Package unlinked keeps on a disk what does not fit in memory, or comes only once: rows of a database, ranges of an
// object, units and keys. Everything that the program puts aside goes through here, so all of it is kept in one way
// (docs/decisions/temporary-files.md): a File has no name, and what stands in it is encrypted with a key that only the
// process knows.
//
// # What it may import
//
// The standard library, and on Windows golang.org/x/sys.
//
// # What it promises
//
// Nobody else can open a File, and the system deletes it whenever the process ends. What is left on the disk, in freed blocks
// too, can be told from random bytes only with the key. Errors are ErrFull and ErrUnusable: fixed texts without a path (P20).
//
// # What it does not protect against
//
// How large a File becomes, and when, can be seen from outside (P19). Whoever reads the memory of the process, its swap or a
// core dump reads the key, and the rows as well. Bytes that somebody changes on the disk are not noticed: who can do that can
// change the process, too.
package unlinked
