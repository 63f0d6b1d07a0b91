// Package planner says how accurate a release would be and whether sampling helps,
// before anybody reads a row. It sweeps over the rate, the size or ε; it finds the
// smallest ε or sample that reaches an accuracy; and it compares designs at equal (ε, δ).
//
// Budgets and noise come from the plan of the job itself, one plan for each point, so
// the study shows what `run` would do. The sampling error follows from what the job
// publicly assumes about its columns (`assume`). Where the noise depends on the data, the
// planner simulates it under the assumed distribution.
//
// It may import internal/job, internal/plan, internal/say/figure, report, privacy, samplers and
// plugins/sdk. The caller passes prices as a function and mechanisms as a table, so the
// planner knows neither the pipeline nor any mechanism by its type.
//
// The planner never opens the private table: it finds the path only inside the job, and
// nothing here reads it. It does read a pilot table that an assumption names, which must
// be public. Simulations use math/rand with a fixed seed, so they can be repeated;
// nothing they produce is a release (P16).
//
// The planner does not protect against wrong assumptions, or assumptions taken from the
// data: a plan that was tuned to the private table is not private.
package planner
