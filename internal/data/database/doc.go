// Package database reads a table from PostgreSQL, in one snapshot, into package table. It is the only package that
// knows a database as a source; the ledger has its own connection.
//
// # What it promises
//
// All rows are those of one moment: one transaction, repeatable read, read only. Memory does not grow with the table:
// rows go to a nameless file as they come (table.Spool), in the server's order, on which the table's digest does not
// depend. Times are in UTC, whatever the server's zone.
//
// No text of the server reaches a message (P20). Before the first row a failure is one of a few sentences, by the class of
// the SQLSTATE; after it, one sentence. No message holds an address.
//
// # What a query may do
//
// Each row of the result must come from one row of one relation, so that a unit changes only its own rows. The server's
// plan of the query shows that (plan.go): a join, an aggregate, a limit, a window, a set operation or a subquery is
// refused. It calls immutable built-in functions only (calls.go), so no function reads other rows. A query may fail on a
// value, which is an answer about a row: Describe reads no value, and a run calls Open for a query after its debit (P33).
//
// # What it may import
//
// pgx, and package table.
package database
