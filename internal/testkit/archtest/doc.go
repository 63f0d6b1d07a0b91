// Package archtest holds the tests that keep the house in order: which package may
// import which, that every package says what it is for, and that every rule
// with a contract has its proof beside it. It has no code.
package archtest
