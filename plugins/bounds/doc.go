// Package bounds is the mechanism that finds a bound for the magnitude of a numeric column:
// a number to which values can be clipped before their sum is released.
//
// # Contract
//
// The candidates are public: the numbers 10^(k/16) up to the larger of |lower| and |upper|,
// down to 12 decades below it. One of them is drawn by the exponential mechanism. The score
// of a candidate is by how much the number of rows whose magnitude exceeds it is above a
// public number, and a public preference for small bounds: one event bounded_range{ε}. It
// holds under add-remove and replace-one, for rows as units and for units with several rows
// (P22), and where missing values are dropped. Memory is constant.
//
// What the mechanism does not hide: the job, at_most and the candidates. The bound itself is
// released: a job that clips to it later uses a public number. Proof: bounds.proof.md.
package bounds
