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
// # Partitions
//
// All three sort rows by their units first, into 64 partitions, and then look at one partition at a time, whose units fit in
// a core's cache; a partition that does not fit in memory is divided by further bits.
//
//   - Keys go by a hash with a secret of the run, so nobody can prepare a table whose partitions are uneven, or learn
//     anything from their sizes. Equal keys meet in one partition, and equality decides.
//   - A Folder and an Index sort each chunk of rows and keep the units of all partitions in tables, as long as these fit. After
//     that a Folder writes partial results to the partitions, again and again, and adds them up in the end. An Index writes
//     its units and their numbers once, and from then on rows with their keys; in the end it finds the first row of each
//     row's unit, partition by partition, and numbers the first rows in the order of the table (unit_settle.go).
//   - A Capper knows the numbers of units, so their lowest bits choose the partition. It puts all rows aside in a Sorter, which
//
// also keeps the rows of groups for mechanisms that are run group by group, and chooses when it sees all rows of a unit
// together (cap_lane.go). A partition that proves too large is divided
//
//	and begun again: what was chosen for it was not kept.
//
// # Memory
//
// A Folder, an Index and a Capper each have a limit of memory. What does not fit goes to a file of package unlinked. Beyond its
// limit each of them takes a few megabytes that do not grow with the table. A Capper also takes a bit for each row, and an
// Index that uses its file at most one more. On the disk a Capper takes 16 bytes for each row, and an Index 32 and the key's
// text.
//
// # What it may import
//
// internal/data/table for columns, internal/noise for random choices, and internal/data/unlinked for files. It opens no
// table and knows no job.
//
// # What it promises
//
// No value makes it fail (P24). Its errors are fixed texts: ErrNullKey, ErrLimit and those of package unlinked
// say only that the case occurred (P20).
//
// # What it does not protect against
//
// How long a fold takes, and whether it uses the disk, depends on the data (P19).
package units
