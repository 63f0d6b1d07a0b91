// Package plan prices a job without its data. It takes the job, the public facts, the
// answers of the mechanisms and what the ledger remembers of kept draws. It makes a
// Plan: every draw, every event, and what each of them costs. A Plan does not change
// after it is made. The package opens no table and sees no row.
//
// A release has a target on the population. The targets of a draw are added up exactly,
// the amplification of the draw is inverted once (P3, P4), and each release gets its
// share. The mechanism plans with the share, and the accountant prices what it planned.
// The ledger is debited with that price.
package plan
