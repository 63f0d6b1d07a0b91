// Package samplers draws the rows on which a mechanism runs, and says what the
// draw does to privacy. One object, a [Design], answers both questions: its Event
// is the price of exactly the draw that [Begin] executes, so nobody types in an
// event that did not happen (P3).
//
// # Designs
//
//	Full              every row; no amplification
//	Poisson           each row on its own coin of one public rate
//	SRSWOR            a fixed number of rows; every subset is equally likely
//	Multistage        units below units, then records, each stage without
//	                  replacement, from a public frame of the ultimate units (P5)
//	StratifiedTake    a fixed number of rows in each stratum of a frame
//	StratifiedPoisson a public rate in each stratum of a frame
//	Collected         draws nothing: somebody else drew the table, by another design
//	Gathered          a collected table, or a draw from it, with the collection's weights
//	Kept              draws nothing: an earlier job made the draw and kept it
//
// Sampling with replacement is accounted for in package privacy, but not executed.
//
// # How to draw
//
// Make a design, begin a draw, and walk the table once, block after block:
//
//	rate, err := samplers.ParseRate("1/20")
//	design, err := samplers.NewPoisson(rate, 0)
//	draw, err := samplers.Begin(design, -1)
//	for each block of n rows {
//		chosen, err := draw.Next(n) // offsets inside the block
//	}
//	err = draw.Done()
//	event := design.Event(privacy.Laplace{...}) // what the release costs
//
// Everything that is released from one draw stands inside one Event (P4).
//
// # Promises
//
// A draw has exactly the law of its design: it is made of exact coins and unbiased
// integers from the operating system's randomness, and of nothing else. Blocks of
// any size give the same law. A fixed draw has exactly its size, or Done fails.
// Inclusion probabilities are public, and the draw keeps to them. The proofs are
// the .proof.md files beside the code.
//
// # What it does not protect against
//
// Amplification holds only while the sample is secret (P3). Whoever publishes
// which rows were drawn, or how many rows a Poisson draw has, loses it. Somebody
// who watches the machine can see which blocks of a table are read, and for how
// long. A [Selector] holds secrets: do not log it. Errors carry fixed codes only,
// never a row, a key or a size that was drawn (P19, P20).
//
// The package imports privacy, internal/noise and the standard library.
package samplers
