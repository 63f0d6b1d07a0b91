// Package database reads a table from PostgreSQL, in one snapshot, into package table. It is the only package that
// knows a database as a source; the ledger has its own connection.
//
// # What it promises
//
// All rows are those of one moment: one transaction, repeatable read, read only. Memory does not grow with the table:
// rows go to a nameless file as they come (table.Spool), in whatever order the server sends them, and the table's
// digest does not depend on that order. Times are in UTC whatever the server's zone.
//
// Nothing that the server says reaches a message (P20): before the first row a failure is one of a few sentences,
// chosen by the class of the SQLSTATE; from then on it is one sentence. An address is never part of a message.
//
// # What a query may do
//
// A row of the table must be made of one row of one relation: then one unit's rows are all that a unit changes. The
// server's own plan of the query says so (plan.go), and a query whose plan holds a join, an aggregate, a limit, a
// window, a set operation or a subquery is refused. What a function does inside is not seen.
//
// # What it may import
//
// pgx, and package table.
package database
