// Package postgres is a driver of database/sql for PostgreSQL, on pgconn. It sends and reads values in their text form, so it needs
// none of pgx's types, which would be 3 MB of the program.
//
// # What it may import
//
// The standard library and pgconn.
//
// # What it promises
//
// A statement is sent as it is, with its arguments beside it. Notices of the server are dropped: they may quote a row.
//
// # What it does not do
//
// Prepare statements, begin transactions other than by a statement, or read types that it does not know otherwise than as text.
package postgres
