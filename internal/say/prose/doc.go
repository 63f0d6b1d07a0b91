// Package prose lays text out for a terminal. It breaks long lines between words and
// indents the rest of a line so that the text keeps its shape.
//
// The text shows its own shape. Two or more spaces separate columns:
//
//   - a line of one column is prose;
//   - a line of two columns is a label near the left edge and its text. The text
//     continues below itself, or below the label if there is no room beside it;
//   - any other line is a row of a table. Only its last column is broken.
//
// # What it may import
//
// The standard library and the width of characters.
//
// # What it promises
//
// Only spaces between words become line ends. A word is never broken, so that people can
// copy paths, places in files, digests and flags. A line never ends between a symbol and
// its number, within a number, or before a per cent sign. A line that fits stays as it is,
// unless it continues a label that had to move. Without the line ends and indents, the
// words are the same.
package prose
