// Command accuracy measures what privacy costs the regressions of some jobs: the loss of
// the released models against that of the fit without privacy, at several epsilons, in a
// table and a plot (lab/studies/sgd-accuracy.md).
//
// It runs the mechanism on the examples' tables with simulated noise of the planned
// size, from a fixed seed, so that the table can be made again. What it computes is
// therefore not private, and nothing of it is a release. It imports the mechanism,
// the SDK and the job language.
package main
