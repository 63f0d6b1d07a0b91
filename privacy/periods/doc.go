// Package periods prices a series: figures of many periods whose noise is correlated (P31). The ledger debits what it says, from
// the matrices of whole numbers and the noise of each run. It is apart from package privacy, which authors of mechanisms compile.
//
// It may import privacy, privacy/rational and internal/calculus/series. It promises upper bounds from exact sums, and does not
// protect against a run that draws other noise than its event says: the seal of a run compares.
package periods
