// Command coverage measures how often an interval holds the population's value (P30): the real
// plans, samplers, mechanisms and noise, over many draws from tables whose values are known.
// It writes lab/studies/coverage.md; `make coverage` runs it.
//
// A figure below the level by more than luck allows, for all figures of the table together, is
// an error of the program, and the command then fails. Values that were selected from the same draw
// have a table of their own, which shows how luck misleads. It measures the intervals of the tables
// and designs that it names, and no others.
package main
