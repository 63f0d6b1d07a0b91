// Command quantiles measures how far off released quantiles are in rank, beside three
// published methods, and writes the table of lab/studies/quantiles.md.
//
// The mechanism is called as a host calls it, with noise from a fixed seed (planner.Dice).
// The others are small ports that draw from floating-point laws: they protect nothing, and
// are here to be compared with.
package main
