// Package problem holds what is wrong with a text that a person wrote: the place, the words, and a hint. Its functions put
// parts of such a text into a message without secrets, and never whole.
package problem
