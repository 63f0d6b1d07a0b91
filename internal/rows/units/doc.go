// Package units knows which rows of a table belong to one unit of privacy, and bounds what a unit adds to a release.
//
// A unit is all rows with one value of the unit column: a person, a household, a firm (P22). Two spellings of a key
// are two units. There are two ways to bound what a unit contributes, and both look at one unit at a time:
//
//   - A Folder makes one row of each unit. Its result is exact and does not depend on the order of the rows. It scans
//     like a table, so that designs, size checks and mechanisms see units where they saw rows.
//   - An Index gives each row the number of its unit, and a Capper keeps at most k cells of a unit and r rows in each,
//     chosen at random within the unit.
//
// Units are numbered by their first row in the table. The numbers are the same in every run over the same content,
// whatever the memory, the number of processors or the seed of the hash tables: a kept draw refers to them.
//
// # Memory
//
// A Folder, an Index and a Capper each take a limit of memory. What does not fit goes to a file without a name, which
// the system deletes when the process ends in any way. Beyond its limit each of them takes a few megabytes that do not
// grow with the table, except the bitmap of a Capper, one bit for each row, and that of an Index that has gone over to
// its file, at most one more.
//
// # What it may import
//
// internal/table for columns and internal/noise for random choices. It opens no table and knows no job.
//
// # What it promises
//
// No value makes it fail (P24). The errors it returns are fixed texts: ErrNullKey, ErrDiskFull, ErrDisk and ErrLimit say
// nothing of the data but that the case occurred (P20).
//
// # What it does not protect against
//
// How long a fold takes, and whether it goes to the disk, depends on the data (P19). What was spilled is deleted, not
// overwritten: a person who can read the raw disk may find rows in blocks that were given back.
package units
