package main

// #include <stdlib.h>
import "C"

import (
	"unsafe"

	"github.com/dprelease/dprelease/bindings"
)

// dprelease_account answers a question, a text that ends in a zero, as JSON. The caller
// gives the answer back to dprelease_free.
//
//export dprelease_account
func dprelease_account(question *C.char) *C.char {
	return C.CString(bindings.Answer(C.GoString(question)))
}

//export dprelease_free
func dprelease_free(answer *C.char) { C.free(unsafe.Pointer(answer)) }

func main() {}
