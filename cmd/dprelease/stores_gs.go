//go:build gs

package main

// Google's driver makes the program a third larger: it is built in with go build -tags gs.
import _ "gocloud.dev/blob/gcsblob"
