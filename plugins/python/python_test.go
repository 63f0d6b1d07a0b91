package python

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	_ "github.com/hashicorp/go-plugin" // registers the messages of its protocol
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/dprelease/dprelease/internal/plugin/wire"
	"github.com/dprelease/dprelease/internal/testkit/scripttest"
)

// TestSDK runs the tests in Python, with numpy and without.
func TestSDK(t *testing.T) {
	scripttest.NeedPython(t)
	for name, value := range map[string]string{"with numpy": "", "without numpy": "1"} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(scripttest.Python, "-B", "-W", "error", "sdk_test.py")
			cmd.Env = append(os.Environ(), "WITHOUT_NUMPY="+value)
			out, err := cmd.CombinedOutput()
			if t.Logf("%s", out); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestProtos: the .proto files in specs are those that the host speaks, go-plugin's too, and
// the SDK has them as they are.
func TestProtos(t *testing.T) {
	scripttest.NeedProtoc(t)
	all := filepath.Join(t.TempDir(), "all")
	compile := func(out string, files ...string) []byte {
		t.Helper()
		args := []string{"--proto_path=../../specs/plugin/v1", "--include_imports", "--descriptor_set_out=" + out}
		if text, err := exec.Command(scripttest.Protoc, append(args, files...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	ours := []string{"mechanism.proto", "grpc_broker.proto", "grpc_controller.proto", "health.proto"}
	var set, have descriptorpb.FileDescriptorSet
	sdk, err := SDK.ReadFile("dprelease/protocol.binpb")
	if err != nil || proto.Unmarshal(sdk, &have) != nil || proto.Unmarshal(compile(all, ours...), &set) != nil || !proto.Equal(&have, &set) {
		t.Errorf("protocol.binpb is not made of specs/plugin/v1: go generate ./plugins/python (%v)", err)
	}
	if err := proto.Unmarshal(compile(all, append(ours, "grpc_stdio.proto")...), &set); err != nil {
		t.Fatal(err)
	}
	registered := map[string]string{"mechanism.proto": wire.File_mechanism_proto.Path(), "health.proto": "grpc/health/v1/health.proto"}
	for _, name := range []string{"grpc_broker.proto", "grpc_controller.proto", "grpc_stdio.proto"} {
		registered[name] = "internal/plugin/" + name
	}
	seen := 0
	for _, f := range set.File {
		path, ok := registered[f.GetName()]
		if !ok {
			continue // what Google imports
		}
		seen++
		d, err := protoregistry.GlobalFiles.FindFileByPath(path)
		if err != nil {
			t.Errorf("%s: %v", f.GetName(), err)
			continue
		}
		want := protodesc.ToFileDescriptorProto(d)
		if f.GetName() == "health.proto" { // a plugin answers Check; the rest came later
			want.Service[0].Method, f.Service[0].Method = want.Service[0].Method[:1], f.Service[0].Method[:1]
			want.MessageType = want.MessageType[:len(f.MessageType)]
		}
		for _, pair := range [][2]*descriptorpb.FileDescriptorProto{{only(f), only(want)}} {
			if !proto.Equal(pair[0], pair[1]) {
				t.Errorf("%s differs from what the program speaks:\n%v\n%v", f.GetName(), pair[0], pair[1])
			}
		}
	}
	if seen != len(registered) {
		t.Errorf("only %d files", seen)
	}
}

// only returns the part of a description that goes over the wire.
func only(f *descriptorpb.FileDescriptorProto) *descriptorpb.FileDescriptorProto {
	out := &descriptorpb.FileDescriptorProto{Package: f.Package, MessageType: f.MessageType, EnumType: f.EnumType, Service: f.Service}
	return proto.Clone(out).(*descriptorpb.FileDescriptorProto)
}
