// Package python holds the SDK for authors of mechanisms in Python: the folder dprelease,
// which `dprelease plugin new --lang python` copies beside a new mechanism and
// `python3 -m dprelease.pack` packs into one file with it.
//
// It needs Python 3.9, grpcio and protobuf, in the version of any distribution since 2022,
// and takes numpy where it is there. It speaks the protocol of
// specs/plugin-v1.md over LANE_SOCKET, and reads the row stream itself.
//
// The package imports the standard library alone and runs nothing. It promises what
// plugins/sdk promises: noise is the host's, and what stays to prove is the sensitivity. It
// does not cover the interpreter and the libraries with a plugin's digest; a catalog
// names them.
package python
