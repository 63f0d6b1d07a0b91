// Package tails holds the laws of noise as logarithms of tails, and the intervals that hold a number given that its noisy number is shown.
//
// It imports nothing. Intervals are computed from what is released and from public facts, so no privacy depends on this package
// (post-processing): an error here makes an interval hold too seldom, and reveals nothing.
package tails
