// Package pipeline is the story of a job: Load → Check → Plan → Run, one file a
// step.
//
// Everything up to and including Plan is done without data: the plan is frozen,
// priced and, in Run, debited before the first row is read or the first random
// bit is drawn (P21). Run then draws the samples, hands their columns to the
// mechanisms in their own processes, draws the noise they ask for, compares what
// happened with what was planned, and publishes all releases at once or none.
//
// The package never imports a concrete mechanism. After the first row has been
// read a failure is one of a fixed set of codes (P20).
package pipeline
