// Package postgrestest starts a PostgreSQL server for the tests of one package: in
// a temporary directory, on an address of loopback, from the server programs that
// are on the machine, and as an unprivileged user, because PostgreSQL refuses root.
//
// It imports the standard library and the database driver, and is imported by
// tests only. Each caller of [New] gets a schema of its own. Where the server's
// programs are missing the test is skipped, visibly, and fails where CI is set.
//
// The server writes without waiting for the disk in nothing but its first
// initialisation: commits are as durable as anywhere. It has no password and
// listens on 127.0.0.1 alone; it must not hold anything of value.
package postgrestest
