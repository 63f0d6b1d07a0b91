package scripttest

import (
	"os"
	"os/exec"
	"testing"
)

// A plugin in the sandbox finds these programs here.
const (
	Python = "/usr/bin/python3"
	Node   = "/usr/bin/node"
	Protoc = "/usr/bin/protoc"
)

// NeedPython is for tests that start a plugin in Python.
func NeedPython(t testing.TB) {
	t.Helper()
	need(t, "apt-get install python3-grpcio python3-protobuf python3-numpy python3-scipy", Python, "-c",
		"import google.protobuf, grpc, numpy, scipy")
}

// NeedNode is for tests that start a plugin in JavaScript.
func NeedNode(t testing.TB) {
	t.Helper()
	need(t, "apt-get install nodejs", Node, "--version")
}

// NeedProtoc is for tests that read the .proto files.
func NeedProtoc(t testing.TB) {
	t.Helper()
	need(t, "apt-get install protobuf-compiler libprotobuf-dev", Protoc, "--version")
}

func need(t testing.TB, how, program string, args ...string) {
	t.Helper()
	if testing.Short() {
		t.Skip("the fast tier needs nothing but Go")
	}
	if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		report := t.Skipf
		if os.Getenv("CI") != "" {
			report = t.Fatalf
		}
		report("NOT TESTED: %s %v does not work on this machine (%s): %v\n%s", program, args, how, err, out)
	}
}
