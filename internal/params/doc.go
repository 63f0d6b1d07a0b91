// Package params checks the parameters of a release against the JSON Schema that its
// mechanism describes them with (2020-12 or draft-07), and says which parameter is wrong.
//
// A schema comes from a plugin and may be hostile. A schema that refers outside itself,
// or to something that contains itself, is refused: so a check reads no file, and ends.
// The same parameters get the same problems in the same order.
//
// The package imports santhosh-tekuri/jsonschema, which does the checking, and the
// standard library.
package params
