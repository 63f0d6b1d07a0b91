// Package nameless makes temporary files without a name: nobody else can open them, and the system deletes them when
// the process ends, in whatever way. What stands in them is as private as the table. It imports the standard library.
package nameless
