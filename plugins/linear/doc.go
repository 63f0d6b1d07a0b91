// Package linear is the kernel of the linear mechanisms: sum, count, mean, proportion, ratio,
// variance, sd, distinct and histogram.
//
// Such a mechanism makes a vector of whole numbers from each row. The vectors of all rows
// are added, the host adds noise once to the whole sum, and the mechanism turns the noisy
// sum into its result. A mechanism says in a Form what the vector of a row is (Query) and
// how the result is made. The package does the rest: groups, missing values, weights,
// units with several rows, both relations, the choice and the size of the noise.
//
// # What it promises
//
// Plan answers with an event whose sensitivities hold for every pair of neighbouring tables, if
// each vector keeps to the Reach that the mechanism gives with it (linear.proof.md). The
// conformance suite checks the vectors themselves.
//
// # Why its queries are not declared
//
// A plugin may declare its query (sdk.Query). A count, a sum and a share without squares were declared once to try it: the host
// added the rows up, and the process planned and finished without any. The events were the same, the suites passed, and a run over
// 20 million rows by group took 0.8 to 1.2 times the processor time. It was 150 lines longer (221 more, 71 fewer), because only 20 of
// the 370 lines that read rows became dead. The rest stays for shapes that no query says:
//
//   - Intervals for samples: squares of totals of clusters, which are sums of no single row, and weights at nodes and in squares,
//     which no expression may read. They need the number of each row (Average, Moments) whatever else is declared.
//   - A histogram has up to 10,000 uneven edges, and an expression 4,096 characters. Trees of quantiles and tables of marginals
//     have thousands of coordinates.
//   - A declared row may always vanish (P39). By groups that stay, none missing, a total of values in [10, 100] moves under
//     replace-one by 90 here and by 100 there; a share beside its count costs more likewise.
//
// It imports the SDK, privacy and the laws of noise. It draws no noise, and sees rows only after the host has
// prepared them.
package linear
