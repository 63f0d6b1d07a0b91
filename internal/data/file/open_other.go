//go:build !unix

package file

// withoutWaiting has no bit where no path names a pipe.
const withoutWaiting = 0
