//go:build cgo

// The accountant as a C library:
//
//	char *answer = dprelease_account("{relation: add-remove, event: {gaussian: {sigma: 2}}, query: {delta: 1e-6}}");
//	…
//	dprelease_free(answer);
package main
