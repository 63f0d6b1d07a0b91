// Package samplers draws the rows on which a mechanism runs, and says what the
// drawing does to privacy. Both come from one object, a Design: its Event is the
// price of exactly the draw that Begin executes, so that nobody types in an
// event that did not happen (P3).
//
// # Designs
//
//	full        every row; no amplification
//	poisson     each row on its own coin of one public rate
//	srswor      a fixed number of rows, every subset as likely
//	multistage  units below units below ..., then records, each stage without
//	            replacement, from a public frame of the ultimate units (P5)
//	stratified  a fixed number, or a public rate, in each stratum of a frame
//	collected   draws nothing: the table itself is a simple random sample
//
// Refuse names the designs that are refused, with the reason. Sampling with
// replacement is not executed.
//
// # Promises
//
// A draw has exactly the law of its design: it is made of the exact coins and
// unbiased integers of internal/noise, and of nothing else. Rows are drawn block
// after block as they stream by; blocks of any size give the same law. A fixed
// draw has exactly its size, or Done fails. Inclusion probabilities (design
// weights) are public, and are those of the draw. Proofs stand in the .proof.md
// files beside the code.
//
// # What it does not protect against
//
// Amplification holds only while the sample is secret: who publishes which rows
// were drawn, how many a Poisson draw has, or a Source's key, has no amplification
// (P3). Which blocks of a table are read, and for how long, follows the sample
// and can be seen by who watches the machine. A Selector holds secrets; do not
// log it. Errors carry fixed codes only, never a row, a key or a size that was
// drawn (P19, P20).
//
// It may import privacy, internal/noise and the standard library.
package samplers
