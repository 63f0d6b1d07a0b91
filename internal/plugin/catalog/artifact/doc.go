// Package artifact fetches a plugin that is stored as an OCI artifact: from a registry, or from an OCI layout in a folder
// or an archive. The companion for object storage speaks to the registry and holds every byte to the digest that the
// manifest names. What comes out is a folder of files, which nobody has approved yet. Only `plugin add` calls it.
package artifact
