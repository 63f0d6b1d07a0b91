// Package proportion is the mechanism that releases the share of rows with a property: a
// category column has one of some values, or a number column lies in an interval. Of the
// whole table or by group.
//
// # Contract
//
// The property is a parameter and depends on one row. The share is the mean of a number
// that is 1 where a row has the property and 0 where not, so everything that holds for the
// mechanism mean holds here, with bounds 0 and 1: a centred sum over a public divisor where
// the number of rows is public, and else two noisy sums, of the rows that have the property
// and of those that do not. A row whose value is missing counts in neither. See
// proportion.proof.md.
package proportion
