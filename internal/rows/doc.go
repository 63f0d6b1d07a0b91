// Package rows is the layer between the file and the mechanisms: it turns the rows of a table into the rows that a
// mechanism sees.
//
// # Columns and conditions
//
// A [Program] computes derived columns, the columns of public lookups, and conditions. It is made once of checked
// formulas (package formula), and an [Evaluator] runs it over blocks of a scan, a few thousand rows of a column at a
// time. What comes out are table.Values and bitmaps, so that whatever follows treats a derived column as it treats a
// column of the file. [Cells] number the combinations of the values of group columns.
//
// What goes in, in the order of [Program.Needs]:
//
//   - A column that is declared as a number, with its values as they are in the file: nobody has clipped them.
//   - A category (a text with a domain), after the rules for missing and foreign values have been applied to it: Codes
//     into the declared domain, -1 where the value is missing or outside. Its Dict is the domain.
//   - A column that only expressions read (number, text, bool, date, timestamp), with its values as they are in the file.
//     [Suits] says beforehand whether a column of the file can be read as its type.
//
// Missing are null, NaN, infinities, code -1, and what cannot be read as the declared type. The result of an operation
// that is not finite is missing too: 1 / 0, 1e308 * 10. Conditions have three values, as in SQL; a mask has a bit where
// its condition is true.
//
// # What it may import
//
// internal/table for columns, internal/lang for problems in public files. It opens no table and knows no job.
//
// # What it promises
//
// No value makes it fail, and each row of a result depends on one row (P24; evaluate.proof.md).
package rows
