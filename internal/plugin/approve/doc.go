// Package approve checks a plugin and puts it into a catalog.
//
// It imports internal/plugin/catalog, which keeps what was approved, internal/plugin/conformance and
// internal/plugin/host, which try it, and the minisign format of keys.
//
// What it promises: the file that was checked is the copy that the catalog holds, in a sandbox that
// was complete. A plugin that is refuted, whose check did not end, or that draws noise of its own and
// was not allowed to, leaves nothing behind in the catalog or its folder.
//
// What it does not protect against: a plugin that is not refuted and wrong all the same.
package approve
