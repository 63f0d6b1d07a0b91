// Package unitrows is the mechanism that releases how many units have one row, two rows and so on,
// and from that how many rows there are, and which share of them a cap leaves out.
//
// # Contract
//
// Each unit is one row, whose number says how many rows the unit has. It counts in one bin, 1 to
// at_most, where the last bin holds all units with more rows. So the vector of the bins moves by 1 in
// L1 norm when a unit comes or goes, and by 2 when its rows become any other non-empty set (P22).
// Numbers of rows are linear functions of the noisy bins and public constants; the share is a
// quotient of two of them. Units in the last bin count with at_most rows, so the number of rows and
// the share are lower bounds.
//
// The host makes the rows of the units. A histogram of rows would move by as many rows as a unit
// has; nothing here bounds that. See unit_rows.proof.md.
package unitrows
