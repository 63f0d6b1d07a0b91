// Package params checks the parameters of a release against the JSON Schema
// (2020-12) that its mechanism describes them with, and says where a parameter is
// wrong.
//
// A schema is a plugin's and may be hostile: one that refers outside itself or to
// something that holds itself is refused, so that a check reads nothing and ends.
// Which problems are reported, and in which order, does not depend on chance.
//
// The package imports google/jsonschema-go and the standard library. The library
// does the checking; it needs no metaschemas, which others compile whenever a
// program starts.
package params
