// Package calls says which noise calls an event stands for, and in which order. The
// host holds a plugin to that order while it releases; the conformance suite holds a
// mechanism to it in a test.
//
// It imports the standard library and privacy. It promises that what a Walk accepted
// is the plan's event, leaf by leaf and to the last bit. It does not judge what the
// event costs.
package calls
