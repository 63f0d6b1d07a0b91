// Package look is the private look at a table that check --data takes before anything
// is spent. What it finds is for the eyes of a person who may see the table, and never
// part of a release (P19).
package look
