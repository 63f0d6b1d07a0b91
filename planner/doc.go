// Package planner answers, before a record is touched, what a release would cost
// in accuracy and whether sampling helps: sweeps over the rate, the size or ε,
// the smallest ε or sample that reaches an accuracy, and a comparison of designs
// at equal (ε, δ).
//
// Budgets and noise come from the plan of the job itself, one plan for each point,
// so that what is shown is what `run` would do. Sampling error comes from what the
// job publicly assumes about its columns (`assume`); where noise depends on the
// data it is simulated under the assumed distribution.
//
// It may import internal/job, report, privacy, samplers, plugins/sdk and
// planner/figure. Plans come in as a function, mechanisms as a table, so that it
// knows neither the pipeline nor any mechanism by its type.
//
// It promises that the private table is never opened: nothing here is given its
// path but inside the job, and nothing reads that. A pilot table named in an
// assumption is read, and must be public. Simulations use math/rand with a fixed
// seed, so that they can be repeated; nothing of them is a release (P16).
//
// It does not protect against assumptions that are wrong, or that were taken from
// the data: a plan tuned to the private table is not private.
package planner
