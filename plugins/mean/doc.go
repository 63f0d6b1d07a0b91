// Package mean is the mechanism that releases the mean of numeric columns, of
// the whole table or by group.
//
// # Contract
//
// The host hands over values clipped to the column's public bounds [L, U]. They
// are rounded to a public lattice, summed in integers, given noise by the host,
// and divided once by a public constant (P12). The realised size of a sample is
// never a divisor.
//
// Which estimator is used follows from what is public:
//
//   - centred: c + Σw(y−c)/T, with c the middle of the range and T a public
//     constant: the fixed size of the sample, or rate·N, or N with design
//     weights. The sum moves by w(U−L) when a record is replaced and by w(U−L)/2
//     when one is added.
//   - ratio: where the number of values is secret (N secret, missing values
//     dropped, or groups): L + (U−L)·A/(A+B) with A = Σw(y−L), B = Σw(U−y), one
//     vector query of L1 norm w(U−L) a record. A+B is the noisy count.
//   - beside: where that is so, but there are no groups and only replaced records to
//     protect: c + S/n, with S the centred sum and n the count, one vector query (P24).
//
// Units with several rows are bounded by the cap of the job (P22); their number of rows is
// secret.
//
// A release protects the records through the noise of the host alone; it does
// not hide the job, the bounds, the lattice or the scale of the noise, all of
// which are public. See mean.proof.md.
package mean
