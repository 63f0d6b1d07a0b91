// Package planned holds the values that a run needs of a plan: which columns are read, which rows count where, what
// each mechanism is asked, and what event was charged for the answer. Package plan makes them, without data, and stands
// above.
//
// The package searches, prices and forecasts nothing. What a run finds before it makes other releases, it hands to the
// Planner, and holds the answer to the events that were charged (Plan.With).
package planned
