// Package artifact fetches a plugin that is stored as an OCI artifact: from a registry, or from an OCI
// layout in a folder or an archive. Every byte is held to the digest that the manifest names. What comes out is
// a folder of files, which nobody has approved yet.
//
// It alone of this program speaks to a network on behalf of plugins, and only `plugin add` calls it.
package artifact
