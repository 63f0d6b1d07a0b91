// Package series plans noise that is correlated over time: for figures that are published
// every month, quarter and year, and their running totals and changes, as P31 allows.
//
// Run t of a series measures a whole-number combination of the periods up to t, the row t of
// a [Matrix], and adds fresh noise. Everything that is published is public arithmetic on the
// measurements: an [Estimate] for each [Row].
//
//	plan, err := series.Find(series.Question{Periods: 36, Rows: rows, Goal: series.RMS,
//		Units: series.Units{AtMost: 1}, Largest: 1 << 30})
//	rho := delta * delta * float64(plan.Charge) / (2 * sigma * sigma)
//	estimate, err := plan.Matrix.Decode(rows[40])
//	figure, deviation := estimate.Value(measured), estimate.Deviation(sigma)
//
// # What it promises
//
//   - What [Matrix.Charge] returns is computed from the whole numbers that are measured, in
//     whole numbers, and proved in series.proof.md. How the matrix was found does not matter.
//   - An estimate is exact: the figures of one series agree with one another.
//
// # What it does not protect against
//
// The package believes its caller about the norm Δ by which a unit changes a period, about
// the periods in which a unit can be, and about slices that stay as they are. It knows no
// calendar, no rows and no amounts of a budget.
//
// It imports the standard library and gonum only.
package series
