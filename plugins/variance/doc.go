// Package variance is the mechanism that releases the variance of a numeric column, or its
// standard deviation (the mechanism sd), of the whole table or by group.
//
// # Contract
//
// With t = (y − L)/(U − L), a row adds (1−t)², 2t(1−t) and t² to three numbers of its cell.
// They are at least 0 and add up to 1 for every t, so that a row that comes or goes moves
// the three sums by 1 in L1 norm, in whole numbers of a public lattice exactly; powers of y
// would move by three times that. The host adds noise to the three sums of all groups once.
// The number of values, their mean and their variance are functions of the noisy sums. Units
// with several rows are bounded by the cap of the job (P22).
//
// The variance is the mean squared distance of the values from their mean. See
// variance.proof.md.
package variance
