// Package draft writes a first job from the schema of a table: its columns with their
// types, places for what a person has to decide, and comments that say what.
//
// It may import internal/job, internal/data/table and internal/run, for the words of a failure.
//
// It promises that the draft depends on the names and types of the columns alone, and on
// nothing else in the table: not on a value, and not on the number of rows. A draft is a
// job whose only problems are the places to fill in.
package draft
