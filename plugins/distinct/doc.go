// Package distinct is the mechanism that releases how many units there are, in all or by
// group.
//
// # Contract
//
// Every row adds one to the cell of its group, and a unit has at most one row in a cell:
// a row is a unit, or the host has folded each unit into one row, or the job caps each unit
// at one row in each group. Any other cap is refused: the rows that the mechanism sees do
// not say whose they are. A count moves by one when a unit comes or goes in a cell, and a
// unit is in as many cells as the cap says (P22).
//
// A number of units that is public already is refused. See distinct.proof.md.
package distinct
