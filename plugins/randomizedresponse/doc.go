// Package randomizedresponse is the mechanism that releases a histogram of a
// category column in the local model: every report is randomized by itself.
//
// # Contract
//
// Every row is one user with one of k public categories. The host runs each
// through k-ary randomized response with ε0 (P15), which keeps the category with
// probability p = e^ε0/(e^ε0+k−1), rounded towards more noise, and otherwise names one
// of the others. The release is the histogram of the reports and its debiased
// version with standard errors; both are post-processing of the reports.
//
// Without shuffle the guarantee is ε0 for every single report: it holds against
// whoever sees the reports with the users' names on them, and trusts nobody but
// the randomizer. With shuffle: true the charged guarantee is that of the shuffled
// reports (P8), for which ε0 may be much larger: it trusts a shuffler, here the host,
// to forget who sent what; local_epsilon gives ε0, and charged is what follows from it,
// or ε0 is the largest that the guarantee allows. The release says which of the two it is.
//
// The number of reports is public: the relation on the sample must be replace-one,
// every row must be in a category, and the sample must have a fixed size. Codes of
// all rows are held in memory, 4 bytes each. Proof: response.proof.md.
package randomizedresponse
