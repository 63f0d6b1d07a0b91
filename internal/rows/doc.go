// Package rows is the layer between the file and the mechanisms: it turns the rows of a table into the rows that a
// mechanism sees.
//
// # Columns and conditions
//
// A [Program] computes derived columns, the columns of public lookups, and conditions. It is made once from checked
// formulas (package formula). An [Evaluator] runs it over blocks of a scan, a few thousand rows of a column at a time. The
// results are table.Values and bitmaps, so later steps treat a derived column like a column of the file. [Cells] number the
// combinations of the values of group columns.
//
// The input, in the order of [Program.Needs]:
//
//   - A column that is declared as a number, with its values as they are in the file: nobody has clipped them.
//   - A category (a text with a domain) after the rules for missing and foreign values: Codes into the declared domain, -1
//     for a value that is missing or outside. Its Dict is the domain.
//   - A column that only expressions read (number, text, bool, date, timestamp), with its values as they are in the file.
//     [Suits] says beforehand whether a column of the file can be read as its type.
//
// Null, NaN, infinities, code -1, and what cannot be read as the declared type are missing. So is a result that is not
// finite: 1 / 0, 1e308 * 10. Conditions have three values, as in SQL; a mask has a bit for each row in which its condition
// is true.
//
// # What it may import
//
// internal/data/table for columns, internal/job/lang for problems in public files. It opens no table and knows no job.
//
// # What it promises
//
// No value makes it fail, and each row of a result depends on one row (P24; evaluate.proof.md).
package rows
