// Package cluster joins points that lie near each other, for compositions of
// thousands of mechanisms whose parameters differ a little.
//
// It imports the standard library only. It promises that every item is in exactly
// one group, that a group holds one family only, and that there are at most as many
// groups as asked for, or one for each family where there are more families than
// that. It knows nothing of privacy: that the corner of a group dominates its members
// is for the caller to prove.
package cluster
