// Package bindings offers the accountant to people without Go: as WebAssembly for
// JavaScript (wasm) and as a C library (c). Both have one function. It takes a question
// of specs/account-v1.md as text, YAML or JSON, and returns the answer of `dprelease
// account --json` as text.
//
//	make bindings
//
// writes dprelease.wasm, wasm_exec.js and dprelease.mjs, and libdprelease.so with
// dprelease.h, to dist/bindings. The mechanisms, samples and the ledger stay with the
// program: a privacy number is what others ask for first.
//
// The folders python and r hold thin packages that call the program with --json: check, plan, run, ledger, read_release and
// plot. They compute nothing. Each has a story from a table to a release: python/start.ipynb, r/inst/doc/start.md. make languages tries them.
package bindings
