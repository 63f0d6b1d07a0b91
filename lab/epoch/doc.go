// Command epoch measures an epoch of noisy gradient descent, through the process
// boundary, against what it cannot do without: reading the records that it touches,
// and calling the host. A million records of 32 features, 100 steps at rate 0.01.
//
// In every turn, and in one session:
//
//	memory  one value is loaded of every cache line of as many records, of 32 float64
//	        each, at the places of Poisson batches, on all cores
//	host    the same release by a mechanism that makes the same calls and computes
//	        nothing
//	epoch   the release of the mechanism sgd
//
// The clock of the last two runs from the first draw to the last noise. The quotient
// is epoch/(memory + host), of the same turn, in wall time and in the processor time of
// both processes; the medians are the ones to read.
package main
