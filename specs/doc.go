// Package specs holds the normative texts of dprelease: the job language, the
// plugin protocol, the formats of releases and reports, their JSON Schemas, and
// the test vectors. They are embedded, so that the program and its tests read
// the very files that are published.
//
// The package imports nothing but the standard library and runs nothing. A text
// is law where it says MUST; a vector shows what that means for one input.
package specs
