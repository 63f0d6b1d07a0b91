// Package worker adds up parts of jobs on the machines of an engine. It finds what internal/run asks for in an Order and
// answers with a Tally: the rows of a part or of a shard go through the operators of a run and through the mechanisms of
// this program, without noise.
//
// It imports internal/run and internal/plugin/inprocess, and nothing of Beam. It knows no ledger. What it answers is as
// private as the rows: whoever carries it seals it. Proof: internal/run/distribute.proof.md.
package worker
