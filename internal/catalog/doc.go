// Package catalog keeps the plugins that somebody approved: which file, checked how, by
// whom, until when, and which texts it may put into a report.
//
// It imports internal/failure, internal/job, internal/lang, the SDK's types and the minisign format of
// signatures, and starts nothing.
//
// What it promises: [Resolve] gives a job only plugins of a catalog that nobody but its
// owner, this user or root, can change, with entries that have not expired and, where the
// catalog has a public key, that the key has signed; [Texts] tells the fixed texts of a
// plan from what a plugin makes up.
//
// What it does not protect against: the owner of the catalog, and whoever runs jobs, who
// could run another program altogether. What a plugin needs beside its executable is
// looked at when a job starts it, and not held from then on.
package catalog
