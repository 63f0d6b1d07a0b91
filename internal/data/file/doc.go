// Package file opens what dprelease reads.
//
// A path of the user's may name anything: a pipe that nobody writes to, a device without
// an end, a file larger than the memory. [Open] opens regular files only and never waits
// for another process. [Read] also bounds the bytes that it takes into memory, before it
// takes them. Everything that a job, a flag or a catalog names is opened here; a test in
// package archtest holds that.
//
// A file of the wrong kind may hold private rows: [Looks] says what a file looks like, and
// quotes nothing of it (P33).
//
// The package imports the standard library only. It does not protect against a file that
// changes while it is read; callers that care compare digests.
package file
