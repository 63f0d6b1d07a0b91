// Package quantiles is the mechanism that releases any list of quantiles of a numeric
// column, of the whole table or by group, from one budget.
//
// # Contract
//
// Values are rounded to a public lattice: the multiples of step, or numbers of a few
// digits. Each row is spread evenly over the points between its value and the next one of
// the lattice, so that many equal values can be told apart in rank. Two methods:
//
//   - recursion: the middle rank is drawn by the exponential mechanism; it cuts the rows in
//     two, and the ranks on either side are looked for among the rows of that side alone
//     (Kaplan, Schnapp and Stemmer 2022). Where there are none, values are scored, and not
//     cuts. A row has its weight once in all cuts of a level
//     together, so a level is one event bounded_range{ε, parts}, whatever the number of
//     ranks and groups. Between neighbours under add-remove a score moves by max(p, 1 − p).
//   - tree: counts of the rows in the parts of the range, coarse and fine, with noise on
//     every count. It is linear: units with several rows are bounded by the cap of the job
//     (P22).
//
// Which one is taken follows from public facts. Both hold under either relation, for the
// designs that the mechanism lists and where missing values are dropped. Ranks never cross:
// a rank is looked for between those already found, or read off counts that ascend.
//
// What the mechanism does not hide: the job, the bounds, the ranks, the method and the
// lattice. Proofs: recursion.proof.md, tree.proof.md.
package quantiles
