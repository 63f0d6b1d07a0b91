// Package step prices what a job does to what an account keeps. An account is a tree of nodes: the data, and all that outlives a
// run and that later jobs use at a lower price. The kinds of nodes differ in one method, Step, which has a proof.
//
// It may import privacy, privacy/periods and privacy/rational. It promises that the prices of all steps at all nodes of an
// account add up by the account's filter, in any order, each step following the outputs of all earlier ones. It does not
// protect against a caller who gives another state than that of the records, or steps at two nodes that do not go together.
package step
