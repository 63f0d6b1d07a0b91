//go:build linux

package host

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/dprelease/dprelease/internal/plugin/sandbox"
	"github.com/dprelease/dprelease/internal/plugin/wire"
	"github.com/dprelease/dprelease/internal/testkit/scripttest"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// tap is gRPC's codec. It notes the messages of this process while somebody listens.
type tap struct {
	encoding.CodecV2
	mu        sync.Mutex
	listening bool
	heard     []heard
}

// heard is one message; raw are its bytes where the plugin sent them.
type heard struct {
	message proto.Message
	raw     []byte
}

var tapped = &tap{CodecV2: encoding.GetCodecV2("proto")}

func init() { encoding.RegisterCodecV2(tapped) }

// listen begins or ends to note.
func (c *tap) listen(begin bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listening = begin; begin {
		c.heard = nil
	}
}

func (c *tap) note(v any, raw []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m, ok := v.(proto.Message); ok && c.listening {
		c.heard = append(c.heard, heard{proto.Clone(m), raw})
	}
}

func (c *tap) Marshal(v any) (mem.BufferSlice, error) {
	c.note(v, nil)
	return c.CodecV2.Marshal(v)
}

func (c *tap) Unmarshal(data mem.BufferSlice, v any) error {
	raw := append([]byte{}, data.Materialize()...)
	err := c.CodecV2.Unmarshal(data, v)
	c.note(v, raw)
	return err
}

// scenes are the messages of a run in the order in which the page tells them. What comes
// first on streams of their own can come in another order.
var scenes = []struct {
	name string // of the message
	call string
}{
	{"HealthCheckRequest", "grpc.health.v1.Health/Check"},
	{"HealthCheckResponse", ""},
	{"DescribeRequest", "dprelease.plugin.v1.Mechanism/Describe"},
	{"DescribeResponse", ""},
	{"PlanRequest", "dprelease.plugin.v1.Mechanism/Plan"},
	{"PlanResponse", ""},
	{"ConnInfo", "plugin.GRPCBroker/StartStream"},
	{"ReleaseRequest", "dprelease.plugin.v1.Mechanism/Release"},
	{"AddNoiseRequest", "dprelease.plugin.v1.Noise/AddLaplace"},
	{"AddNoiseResponse", ""},
	{"ReleaseOutput", "dprelease.plugin.v1.Mechanism/Release"},
}

// TestTranscript runs a plugin that knows nothing of Go and holds all that was said
// against specs/plugin-transcript.md.
func TestTranscript(t *testing.T) {
	scripttest.NeedNode(t)
	folder := t.TempDir()
	script, err := os.ReadFile("../../../examples/plugins/above-node/above.js")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "above.js")
	if err := os.WriteFile(path, script, 0o755); err != nil {
		t.Fatal(err)
	}
	var v rowVector
	if text, err := os.ReadFile("../../../specs/vectors/rows/transcript.json"); err != nil || json.Unmarshal(text, &v) != nil {
		t.Fatal(err)
	}
	req := sdk.PlanRequest{
		Params: []byte(`{"column":"x","from":2}`),
		Public: sdk.Public{
			Relation: privacy.AddRemove, SampleRelations: []privacy.Relation{privacy.AddRemove},
			Design:  sdk.Design{Kind: "full", Rate: 1, MinWeight: 1, MaxWeight: 1, EqualWeights: true},
			Columns: []sdk.Column{{Name: "x", Type: sdk.Number, Lower: 0, Upper: 10, Missing: sdk.MissingDrop}},
		},
		Target: privacy.Point{Epsilon: 0.5},
	}
	tapped.listen(true)
	defer tapped.listen(false)
	p, err := Start(t.Context(), Command{Name: "above", Path: path, SHA256: fmt.Sprintf("%x", sha256.Sum256(script)), Confine: sandbox.Confinement{Mode: sandbox.Required}}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	line := "1|1|unix|" + p.runner.socket() + "|grpc|"
	plan, err := p.Plan(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Release(t.Context(), releaseOf(req, plan), func(_ context.Context, w RowWriter) error { return w.Write(v.batch(0)) }, &fakeDrawer{})
	if err != nil || len(got.Columns) != 1 || got.Columns[0].Int64[0] != 2+2 { // two values from 2 on, and the noise
		t.Fatalf("%+v, %v", got, err)
	}
	p.Close()
	tapped.listen(false)
	rows, err := os.ReadFile("../../../specs/vectors/rows/transcript.arrows")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "../../../specs/plugin-transcript.md", tapped.page(t, line, rows))
}

// page is the run as a page of specs.
func (c *tap) page(t *testing.T, line string, rows []byte) []byte {
	var out bytes.Buffer
	out.WriteString(transcriptHead)
	fmt.Fprintf(&out, "## The first line of standard output\n\n    %s\n\n", named(line))
	for _, scene := range scenes {
		var said []string
		ours := false
		for _, h := range c.heard {
			if string(h.message.ProtoReflect().Descriptor().Name()) == scene.name {
				said, ours = append(said, dumped(h)), h.raw == nil
			}
		}
		if len(said) == 0 || slices.ContainsFunc(said, func(s string) bool { return s != said[0] }) {
			t.Errorf("%s: %q", scene.name, said)
			continue
		}
		who, times := "plugin", ""
		if ours {
			who = "host"
		}
		if len(said) > 1 {
			times = fmt.Sprintf(", %d times", len(said))
		}
		if scene.call != "" {
			times += ", `/" + scene.call + "`"
		}
		fmt.Fprintf(&out, "## The %s: %s%s\n\n%s", who, scene.name, times, said[0])
		if scene.name == "ReleaseRequest" {
			out.WriteString("## The host: the rows, over the socket that it named\n\n```\n" + hex.Dump(rows) + "```\n\n")
		}
	}
	out.WriteString(transcriptEnd)
	return out.Bytes()
}

// dumped is a message as it goes over the wire, with the names of private files replaced.
func dumped(h heard) string {
	m := h.message.ProtoReflect()
	switch {
	case h.raw != nil:
	case m.Descriptor().Name() == "ConnInfo": // go-plugin keeps its type to itself
		at := m.Descriptor().Fields().ByName("address")
		m.Set(at, protoreflect.ValueOfString(named(m.Get(at).String())))
	case m.Descriptor().Name() == "ReleaseRequest":
		start := h.message.(*wire.ReleaseRequest)
		start.Socket = named(start.GetSocket())
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(h.message)
	if err != nil {
		panic(err)
	}
	if h.raw != nil {
		b = h.raw
	}
	if len(b) == 0 {
		return "An empty message.\n\n"
	}
	return "```\n" + hex.Dump(b) + "```\n\n"
}

// named replaces the folder of a socket, and what is random in its name.
func named(path string) string {
	before, rest, _ := strings.Cut(path, "/")
	name, after, _ := strings.Cut(rest, "|")
	base := strings.TrimRight(filepath.Base(name), "0123456789")
	if after != "" {
		after = "|" + after
	}
	return before + "/private/" + base + after
}

const transcriptHead = `# A whole run of a plugin, byte by byte

This is what a host and a plugin say to each other, from the handshake to the result. The plugin is
[above.js](../examples/plugins/above-node/above.js), which counts the values of ` + "`x`" + ` that are at least 2 at ε = 0.5. A test runs it and
makes this page of what it hears (` + "`go test ./internal/plugin/host -run TestTranscript`" + `), so the page is true of the program as it is.

Each block is one message of protocol buffers, without the five bytes that gRPC puts in front. ` + "`protoc --decode`" + ` with the files in
` + "`plugin/v1`" + ` reads it. The folder of the sockets is written as ` + "`/private`" + `, and random parts of their names are left out; all else is as it
was sent. Messages on different streams stand in the order in which they are told of here; the broker's can come at any time before
it is used. The noise that is drawn here is 2, always.

`

const transcriptEnd = `## The end

The host calls ` + "`/plugin.GRPCController/Shutdown`" + ` with an empty message and closes its end of standard input. The plugin exits.
`
