// Package prose lays text out for a terminal: long lines are broken between words,
// and what follows is indented so that the shape of the text stays.
//
// The text says its shape itself. Two or more spaces separate columns:
//
//   - a line of one column is prose;
//   - a line of two is a label, not far from the left edge, and what it says, which
//     goes on below itself, or below the label where there is no room beside it;
//   - any other line is a row of a table, which is never broken, but for words in its
//     last column.
//
// # What it may import
//
// The standard library and the width of characters.
//
// # What it promises
//
// Only spaces between words turn into line ends: nothing is broken inside a word,
// so that paths, places in files, digests and flags can be copied, nor between a
// symbol and its number, within a number, or before a per cent sign. Lines that fit
// are not touched, unless they go on with a label that had to move. Taking the
// line ends and indents away again gives the same words.
package prose
