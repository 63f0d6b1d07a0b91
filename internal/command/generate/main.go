// Command generate writes the descriptions of the built-in mechanisms to the file that its argument names.
package main

import (
	"fmt"
	"os"

	"github.com/dprelease/dprelease/plugins/builtin"
)

func main() {
	text, err := builtin.Stored()
	if err == nil {
		err = os.WriteFile(os.Args[1], text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}
