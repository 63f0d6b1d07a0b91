// Package units knows which rows of a table belong to one unit of privacy, and bounds what a unit adds to a release.
//
// A unit is all rows with one value of the unit column: a person, a household, a firm (P22). Two spellings of a key
// are two units. There are two ways to bound what a unit contributes, and both look at one unit at a time:
//
//   - A Folder makes one row of each unit. Its result is exact and does not depend on the order of the rows. It scans
//     like a table, so that designs, size checks and mechanisms see units in the place of rows.
//   - A Capper keeps at most k cells of a unit and r rows in each, chosen at random within the unit.
//
// Both stand on an Index, which gives each row of one or several tables the number of its unit. Units are numbered by their
// first rows. A kept draw refers to these numbers, so they are the same in every run over the same content, whatever the
// memory, the number of processors or the seed of the hash tables.
//
// # One partition
//
// An Index sorts each chunk of rows by hashes of their keys, whose secret is the run's: nobody can prepare a table whose parts
// are uneven, or learn anything from their sizes. All else goes by numbers. Whatever does not fit in memory goes through a
// Sorter: the rows of an Index by hashes and then by rows (unit_settle.go), those of a Folder by ranges of units (fold_late.go),
// those of a Capper by the lower bits of numbers (cap_lane.go), the rows of groups for mechanisms that are run group by group,
// and the keys of package keys. Each part is then read by itself. One that does not fit is read once for each half of its
// units, and what was made of it before is forgotten.
//
// # Memory
//
// An Index, a Folder and a Capper each have a limit of memory. What does not fit goes to a file of package unlinked. Beyond its
// limit each of them takes a few megabytes that do not grow with the table. A Capper also takes a bit for each row, and an
// Index that uses its file at most one more. On the disk a Capper takes 16 bytes for each row, an Index 28 and the key's text,
// and a Folder 8 and the values.
//
// # What it may import
//
// internal/data/table for columns, internal/noise for random choices, internal/guard for goroutines, and internal/data/unlinked
// for files. It opens no table and knows no job.
//
// # What it promises
//
// No value makes it fail (P24). Its errors are fixed texts: ErrNullKey, ErrLimit and those of package unlinked
// say only that the case occurred (P20).
//
// # What it does not protect against
//
// How long numbering or folding takes, and whether it uses the disk, depends on the data (P19).
package units
