// Command coverage measures how often an interval holds the population's value (P30): the real
// plans, samplers, mechanisms and noise, over many draws from tables whose values are known.
// It writes lab/studies/coverage.md; `make coverage` runs it.
//
// A figure below the level by more than luck allows, for all figures of the table together, is
// an error of the program, and the command then fails. It measures the intervals of the tables
// and designs that it names, and no others.
package main
