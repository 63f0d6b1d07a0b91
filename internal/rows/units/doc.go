// Package units knows which rows of a table belong to one unit of privacy, and bounds what a unit adds to a release.
//
// A unit is all rows with one value of the unit column: a person, a household, a firm (P22). Two spellings of a key
// are two units. There are two ways to bound what a unit contributes, and both look at one unit at a time:
//
//   - A Folder makes one row of each unit. Its result is exact and does not depend on the order of the rows. It scans
//     like a table, so that designs, size checks and mechanisms see units in the place of rows.
//   - An Index gives each row the number of its unit, and a Capper keeps at most k cells of a unit and r rows in each,
//     chosen at random within the unit.
//
// Units are numbered by their first rows. A kept draw refers to these numbers, so they are the same in every run over the
// same content, whatever the memory, the number of processors or the seed of the hash tables.
//
// # Memory
//
// A Folder, an Index and a Capper each have a limit of memory. What does not fit goes to a file without a name, which the
// system deletes whenever the process ends. Beyond its limit each of them takes a few megabytes that do not grow with the
// table. A Capper also takes a bit for each row, and an Index that uses its file at most one more.
//
// # What it may import
//
// internal/table for columns and internal/noise for random choices. It opens no table and knows no job.
//
// # What it promises
//
// No value makes it fail (P24). Its errors are fixed texts: ErrNullKey, ErrDiskFull, ErrDisk and ErrLimit say only that the
// case occurred (P20).
//
// # What it does not protect against
//
// How long a fold takes, and whether it uses the disk, depends on the data (P19). The file is deleted and not overwritten:
// somebody who can read the raw disk may find rows in freed blocks.
package units
