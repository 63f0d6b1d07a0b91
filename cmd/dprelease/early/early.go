package early

import (
	"os"

	"github.com/dprelease/dprelease/internal/launch"
)

// Serve is the hidden command that serves the built-in mechanisms to a host.
const Serve = "__mechanism"

func init() {
	if len(os.Args) > 2 && (os.Args[1] == "run" || os.Args[1] == "plan" || os.Args[1] == "check") {
		launch.Begin(Serve)
	}
}
