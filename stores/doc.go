// Command dprelease-stores is the companion of dprelease that speaks to object storage, reads the metadata of Apache Iceberg
// tables, and fetches plugins from OCI registries. dprelease starts it from its own folder and asks it on its standard input
// (internal/data/store/call); people do not run it.
//
// # What it promises
//
// It answers with what a store holds or with an error in fixed words, never with the words of a server: those may name keys,
// values and credentials. It writes nothing to standard error. It fetches exactly the ranges that it is asked for, so the
// store's log shows no more than the program announced (P19). It ends when its standard input does.
package main
