// Package catalog keeps the plugins that somebody approved: which file, checked how, by
// whom, until when, and which texts it may put into a report.
//
// It imports internal/say/failure, internal/job, internal/job/lang, internal/plugin/sandbox, the SDK's types and the minisign format of
// signatures, and starts nothing.
//
// What it promises: [Resolve] gives a job only plugins of a catalog that nobody but its
// owner, this user or root, can change, with entries that have not expired. Where the
// catalog has a public key, that key has signed all of it, and neither an older copy nor one without the
// key takes its place (the last serial number is kept in the user's state folder); [Texts] tells the fixed texts of a
// plan from what a plugin makes up.
//
// What it does not protect against: the owner of the catalog, and whoever runs jobs, who
// could run another program altogether; and who uses a signed catalog for the first time, who cannot tell an
// old copy. A script's interpreter is looked at when a job starts it, and not held from then on.
package catalog
