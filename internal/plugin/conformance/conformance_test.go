//go:build linux

package conformance

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/internal/plugin/wire"
	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/plugins/mean"
	"github.com/dprelease/dprelease/plugins/median"
	"github.com/dprelease/dprelease/plugins/quantiles"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest/insecureshelf"
	"github.com/dprelease/dprelease/plugins/sdk/serve"
	"github.com/dprelease/dprelease/plugins/sum"
	"github.com/dprelease/dprelease/privacy"
)

// The test binary is also every plugin that the tests start: "plugin NAME".
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "plugin" {
		runPlugin(os.Args[2])
		return
	}
	goleak.VerifyTestMain(m)
}

func runPlugin(name string) {
	switch name {
	case "mean":
		serve.Mechanisms(mean.Mechanism{})
	case "median":
		serve.Mechanisms(median.Mechanism{})
	case "quantiles":
		serve.Mechanisms(quantiles.Mechanism{})
	case "sum":
		serve.Mechanisms(sum.Mechanism{})
	case "sound":
		serve.Mechanisms(insecureshelf.Sound())
	case "sound-descent":
		serve.Mechanisms(insecureshelf.SoundDescent())
	case "deaf": // shakes hands with anybody, and never ends
		fmt.Println("1|1|unix|/tmp/nowhere|grpc|")
		time.Sleep(time.Minute)
	case "ghost": // claims whatever version it is offered
		fmt.Printf("1|%s|unix|%s/s|grpc|\n", os.Getenv("PLUGIN_PROTOCOL_VERSIONS"), os.Getenv("PLUGIN_UNIX_SOCKET_DIR"))
		time.Sleep(time.Minute)
	case "untiled":
		serve.Mechanisms(bare{quantiles.Mechanism{}})
	case "scale-0":
		serve.Mechanisms(bare{median.Mechanism{}})
	case "chatty":
		serve.Mechanisms(chatty{insecureshelf.Sound()})
	case "typo":
		serve.Mechanisms(typo{insecureshelf.Sound()})
	case "dying":
		serve.Mechanisms(dying{insecureshelf.Sound()})
	default:
		for _, s := range insecureshelf.All() {
			if s.Name == name {
				serve.Mechanisms(s.Mechanism)
			}
		}
		os.Exit(64)
	}
}

// chatty prints what it sees.
type chatty struct{ sdk.Mechanism }

func (c chatty) Release(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, h sdk.Host) (sdk.Result, error) {
	fmt.Fprintln(os.Stderr, "releasing", req.Plan.Columns)
	return c.Mechanism.Release(ctx, req, rows, h)
}

// bare asks for selections from nothing, and for smooth noise of no size.
type bare struct{ sdk.Mechanism }

func (m bare) Release(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, h sdk.Host) (sdk.Result, error) {
	return m.Mechanism.Release(ctx, req, rows, nothing{h})
}

type nothing struct{ sdk.Host }

func (n nothing) Select(ctx context.Context, ev privacy.Selection, _ []sdk.Piece, rate float64) (int64, error) {
	return n.Host.Select(ctx, ev, []sdk.Piece{{Lo: 0, Hi: -1}}, rate)
}

func (n nothing) SmoothLaplace(ctx context.Context, ev privacy.Approx, value, _, granularity float64) (float64, error) {
	return n.Host.SmoothLaplace(ctx, ev, value, 0, granularity)
}

// dying ends its process in the middle of a release.
type dying struct{ sdk.Mechanism }

func (d dying) Release(context.Context, sdk.ReleaseRequest, sdk.Rows, sdk.Host) (sdk.Result, error) {
	os.Exit(3)
	return sdk.Result{}, nil
}

// typo looks beyond the end of a list, in a plan or in a release.
type typo struct{ sdk.Mechanism }

func (m typo) Describe() sdk.Description {
	d := m.Mechanism.Describe()
	d.Name = "typo"
	return d
}

func (m typo) Plan(req sdk.PlanRequest) (sdk.Plan, error) {
	if req.Public.Design.Kind == "poisson" {
		_ = req.Public.Columns[len(req.Params)]
	}
	return m.Mechanism.Plan(req)
}

func (m typo) Release(_ context.Context, req sdk.ReleaseRequest, rows sdk.Rows, _ sdk.Host) (sdk.Result, error) {
	_, err := rows.Next()
	_ = req.Plan.Output[req.Plan.Rows]
	return sdk.Result{}, err
}

// An author sees where a plugin failed: in its process, and in that of the suite.
func TestFaultsAreSeen(t *testing.T) {
	p := NewProcess(command(t, "typo"), false)
	defer p.Close()
	for name, s := range map[string]sdktest.Subject{"process": p, "suite": sdktest.InProcess(typo{insecureshelf.Sound()})} {
		all, err := sdktest.Requests(t.Context(), s, 1)
		if err != nil {
			t.Fatal(err)
		}
		r, err := sdktest.Check(t.Context(), s, sdktest.Config{Seed: 1, Requests: all, Pairs: 1, Releases: -1, Shrink: 1})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, f := range r.Findings {
			method := map[string]string{"plan": "Plan", "error": "Release", "panic": "Release"}[f.Check]
			if strings.Contains(f.Detail, "index out of range") && strings.Contains(f.Detail, "conformance_test.go:") {
				seen[method] = true
			} else {
				t.Errorf("%s: %s: %s", name, f.Check, f.Detail)
			}
		}
		if !seen["Plan"] || !seen["Release"] {
			t.Errorf("%s: %+v", name, r.Findings)
		}
	}
	if said := p.Said(); said != "" {
		t.Errorf("a stack counts as output, too: %q", said)
	}
}

func command(t *testing.T, name string) host.Command {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return host.Command{Name: name, Path: self, Args: []string{"plugin", name}}
}

func TestHonestProcesses(t *testing.T) {
	for _, mechanism := range tier.Some([]sdk.Mechanism{mean.Mechanism{}, insecureshelf.SoundDescent()}, 2) {
		name := mechanism.Describe().Name
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := sdktest.Config{Seed: 7, Pairs: 3, Releases: 120}
			if testing.Short() {
				all, err := sdktest.Requests(t.Context(), sdktest.InProcess(mechanism), 7)
				if err != nil {
					t.Fatal(err)
				}
				cfg.Requests, cfg.Releases = tier.Some(all, 10), 10
			}
			r, err := Check(t.Context(), command(t, name), cfg)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range r.Findings {
				t.Errorf("%s: %s\n%s\n%s", f.Check, f.Detail, f.Request, f.Tables)
			}
			if r.Pairs < 20 || r.Calls < r.Pairs/2 {
				t.Errorf("only %d pairs and %d calls", r.Pairs, r.Calls)
			}
			t.Logf("%d requests, %d pairs, used %v", r.Requests, r.Pairs, r.Used)
		})
	}
}

// checkQuantiles runs a few pairs of a request for quantiles.
func checkQuantiles(t *testing.T, plugin, params string) *sdktest.Report {
	p := NewProcess(command(t, plugin), false)
	defer p.Close()
	req := sdk.PlanRequest{Params: []byte(params), Target: privacy.Point{Epsilon: 1, Delta: 1e-6},
		Public: sdk.Public{Relation: privacy.AddRemove, SampleRelations: []privacy.Relation{privacy.AddRemove}, Columns: sdktest.Columns(),
			Design: sdk.Design{Kind: "full", Rate: 1, MinWeight: 1, MaxWeight: 1, EqualWeights: true}}}
	r, err := sdktest.Check(t.Context(), p, sdktest.Config{Seed: 1, Requests: []sdk.PlanRequest{req}, Pairs: 3, Releases: -1})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestSharedEvents: several selections share one event, and each of them reaches the suite.
func TestSharedEvents(t *testing.T) {
	if r := checkQuantiles(t, "quantiles", `{"column":"y","method":"recursion"}`); len(r.Findings) > 0 || r.Calls < 3*3 {
		t.Errorf("%d calls, findings %+v", r.Calls, r.Findings)
	}
}

// TestBareCalls: the suite refuses what no host can draw, as it does in its own process.
func TestBareCalls(t *testing.T) {
	for plugin, params := range map[string]string{"untiled": `{"column":"y","method":"recursion"}`, "scale-0": `{"column":"y","method":"smooth-laplace"}`} {
		if r := checkQuantiles(t, plugin, params); !r.Found("error") {
			t.Errorf("%s: findings %+v", plugin, r.Findings)
		}
	}
}

// TestBrokenProcesses: what the suite finds in a process it finds behind the host.
func TestBrokenProcesses(t *testing.T) {
	for name, want := range map[string]string{
		"half-sensitivity": "l1-sensitivity", "realised-n": "result", "local-for-smooth": "smooth-sensitivity",
		"realised-batch": "l2-sensitivity", "nan": "nonfinite", "crash": "error", "plan-by-clock": "plan",
		"calls-by-data": "calls", "own-noise-small": "epsilon", "chatty": "output", "dying": "panic",
		"sum-wrong-cap": "l1-sensitivity", "sum-biased-rounding": "linear", "sum-group-left-out": "groups",
	} {
		if testing.Short() && !slices.Contains([]string{"half-sensitivity", "chatty", "dying"}, name) {
			continue // the fast tier of sdktest looks for them in its own process
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := NewProcess(command(t, name), false)
			defer p.Close()
			requests, err := sdktest.Requests(t.Context(), p, 1)
			if err != nil {
				t.Fatal(err)
			}
			switch name { // what the fault is about comes first
			case "sum-wrong-cap":
				requests = slices.DeleteFunc(requests, func(r sdk.PlanRequest) bool { return r.Public.Cap == nil || r.Public.Cap.Rows == 1 })
			case "sum-group-left-out":
				requests = slices.DeleteFunc(requests, func(r sdk.PlanRequest) bool { return !strings.Contains(string(r.Params), `"by":"g"`) })
			}
			// One request is enough here: all of them are tried in the process of the suite.
			cfg := sdktest.Config{Seed: 1, Requests: requests[:1], Pairs: 25, Releases: -1, Runs: 400, Shrink: 4}
			r, err := sdktest.Check(t.Context(), p, cfg)
			if err != nil && len(r.Findings) == 0 {
				t.Fatal(err)
			}
			if said := p.Said(); said != "" && name == "chatty" {
				r.Findings = append(r.Findings, sdktest.Finding{Check: "output", Detail: said})
			}
			if !r.Found(want) {
				t.Errorf("not caught by %s: %+v", want, r.Findings)
			}
		})
	}
}

func TestManners(t *testing.T) {
	tier.Full(t, "TestBrokenProcesses")
	sound, err := sdktest.Requests(t.Context(), sdktest.InProcess(insecureshelf.Sound()), 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"sound": "", "deaf": "cookie", "ghost": "version"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they wait most of the time
			patience := time.Minute
			if want != "" {
				patience = 3 * time.Second // under the race detector the end alone takes one
			}
			found, err := manners(t.Context(), command(t, name), name, sound[0], patience)
			if err != nil {
				t.Fatal(err)
			}
			var checks []string
			for _, f := range found {
				checks = append(checks, f.Check)
			}
			all := strings.Join(checks, " ")
			if want == "" && all != "" || !strings.Contains(all, want) {
				t.Errorf("found %q, want %q: %+v", all, want, found)
			}
		})
	}
}

// planner answers plan requests over a socket without the SDK: as another language
// would.
type planner struct {
	wire.UnimplementedMechanismServer
	plan func(*wire.PlanRequest) (*wire.PlanResponse, error)
}

func (p planner) Plan(_ context.Context, req *wire.PlanRequest) (*wire.PlanResponse, error) {
	return p.plan(req)
}

// A plugin that refuses what a later host says, or is led astray by it, is caught.
func TestUnknownFields(t *testing.T) {
	requests, err := sdktest.Requests(t.Context(), sdktest.InProcess(insecureshelf.Sound()), 1)
	if err != nil {
		t.Fatal(err)
	}
	rows := func(n int64) *wire.PlanResponse {
		return &wire.PlanResponse{Answer: &wire.PlanResponse_Plan{Plan: &wire.Plan{Rows: n}}}
	}
	for name, c := range map[string]struct {
		plan func(*wire.PlanRequest) (*wire.PlanResponse, error)
		says string
	}{
		"tolerant": {func(*wire.PlanRequest) (*wire.PlanResponse, error) { return rows(1), nil }, ""},
		"deep": {func(m *wire.PlanRequest) (*wire.PlanResponse, error) {
			if len(m.GetPublic().GetColumns()[0].ProtoReflect().GetUnknown()) > 0 {
				return rows(2), nil
			}
			return rows(1), nil
		}, "otherwise"},
		"strict": {func(m *wire.PlanRequest) (*wire.PlanResponse, error) { return rows(1), wire.Known(m) }, "refuses"},
		"astray": {func(m *wire.PlanRequest) (*wire.PlanResponse, error) {
			if wire.Known(m) != nil {
				return rows(2), nil
			}
			return rows(1), nil
		}, "otherwise"},
	} {
		address := filepath.Join(t.TempDir(), "s")
		l, err := net.Listen("unix", address)
		if err != nil {
			t.Fatal(err)
		}
		s := grpc.NewServer()
		wire.RegisterMechanismServer(s, planner{plan: c.plan})
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = s.Serve(l)
		}()
		dial := func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", address)
		}
		err = unknown(t.Context(), dial, "a", requests[0])
		s.Stop()
		<-served
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNotAPlugin(t *testing.T) {
	r, err := Check(t.Context(), command(t, "no-such-mode"), sdktest.Config{})
	if err != nil || !r.Found("describe") {
		t.Errorf("a program that is no plugin: %+v, %v", r, err)
	}
	if _, err := Check(t.Context(), host.Command{Name: "x", Path: "/nonexistent"}, sdktest.Config{}); err != nil && errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
