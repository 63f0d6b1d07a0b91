//go:build js && wasm

// The accountant for JavaScript: dprelease.mjs starts it.
package main

import (
	"syscall/js"

	"github.com/dprelease/dprelease/bindings"
)

func main() {
	answer := js.FuncOf(func(_ js.Value, args []js.Value) any { return bindings.Answer(args[0].String()) })
	js.Global().Get("dpreleaseReady").Invoke(answer)
	select {} // as long as the page lives
}
