// Command weights measures what the weights of a survey cost: the error of mean income by
// region on the persons of the EU-SILC table, at equal ε, with weights as they are and shrunk.
// It prints the tables of docs/weights.md; -choice the one of a keep that is chosen in private.
package main
