// Package formula reads the expressions of a job: "age >= 18 && borough in ['Bronx',
// 'Queens']". The syntax is a part of CEL's; docs/expressions.md lists the functions.
// The library cel-go would be a twelfth of a cold build, and its checker takes a date where a number is wanted.
//
// [Check] turns a text into a [Formula], or says at which line and column it is wrong and
// what is allowed there. [Reads] and [Order] tell in which order formulas that read each
// other have to be checked. [Bins] cut a number into labelled ranges.
//
// The package may import the standard library and internal/say/problem. It sees the
// names, types, domains and bounds that a job declares, and never a table. It evaluates
// nothing: package rows does that, over columns.
//
// It promises: a formula is a tree of total functions, each of which gives a value or
// "missing" for whatever its arguments are (P24); a text of any content is answered in
// bounded time and memory and without a panic; two texts with the same [Formula.Canonical]
// mean the same.
package formula
