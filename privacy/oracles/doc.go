// Package oracles holds a table of ε and δ that other tools, or exact sums of many digits,
// gave for expressions that the accountant answers too: what no sound accountant may
// undercut, what is known to hold, and what each of the other tools charged.
//
// The table was recorded from dp_accounting 0.6.0, opacus, autodp and the PRV accountant.
// Only tests and the page lab/studies/accountant.md read it. It imports the privacy package alone.
package oracles
