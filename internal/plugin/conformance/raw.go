package conformance

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/internal/plugin/sandbox"
	"github.com/dprelease/dprelease/internal/plugin/wire"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
)

// Limits of the protocol for the start and the end of a process, with some room for a
// machine that is busy.
const (
	startLimit = time.Minute // that of the host
	endLimit   = 5 * time.Second
)

// rawProcess is a plugin that was started without a host, to see what it does when
// something is not as it should be.
type rawProcess struct {
	*sandbox.Process
	exe  *sandbox.Executable
	dir  *sandbox.Dir
	line string // the first line, "" where it printed none
}

// launch starts the plugin with these variables and waits for its first line or its
// end.
func launch(ctx context.Context, c host.Command, env ...string) (*rawProcess, error) {
	exe, err := sandbox.Open(c.Path, c.SHA256)
	if err != nil {
		return nil, err
	}
	dir, err := sandbox.NewDir()
	if err != nil {
		exe.Close()
		return nil, err
	}
	c.Confine = confinement(c)
	how, err := c.In(dir)
	if err != nil {
		dir.Close()
		exe.Close()
		return nil, err
	}
	how.Env = append(how.Env, env...)
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	started, err := sandbox.Start(ctx, exe, how)
	if err != nil {
		dir.Close()
		exe.Close()
		return nil, err
	}
	p := &rawProcess{Process: started, exe: exe, dir: dir}
	first := make(chan string, 1)
	go func() {
		r := bufio.NewReader(io.LimitReader(p.Stdout, 1<<20))
		line, _ := r.ReadString('\n')
		first <- strings.TrimSpace(line)
		_, _ = io.Copy(io.Discard, r)
	}()
	go func() { _, _ = io.Copy(io.Discard, p.Stderr) }()
	select {
	case p.line = <-first:
	case <-p.Done():
		select {
		case p.line = <-first:
		case <-time.After(100 * time.Millisecond): // a descendant holds the other end
		}
	case <-ctx.Done():
	}
	return p, nil
}

// ended waits for the end of the process.
func (p *rawProcess) ended(within time.Duration) bool {
	select {
	case <-p.Done():
		return true
	case <-time.After(within):
		return false
	}
}

func (p *rawProcess) close() {
	p.Kill(endLimit)
	p.Process.Close()
	p.exe.Close()
	p.dir.Close()
}

const cookie = wire.CookieKey + "=" + wire.CookieValue

// manners are the checks of the process itself. Req is a request that the plugin
// accepts; within is how long it may take to end.
func manners(ctx context.Context, c host.Command, mechanism string, req sdk.PlanRequest, within time.Duration) ([]sdktest.Finding, error) {
	var out []sdktest.Finding
	found := func(check, format string, args ...any) {
		out = append(out, sdktest.Finding{Check: check, Detail: fmt.Sprintf(format, args...)})
	}
	p, err := launch(ctx, c)
	if err != nil {
		return nil, err
	}
	switch _, err := host.CheckHandshake(p.line, p.dir.Own); {
	case err == nil:
		found("cookie", "without the variable %s it shakes hands; it should say that it is not to be run by hand, and exit", wire.CookieKey)
	case !p.ended(within):
		found("cookie", "without the variable %s it does not exit", wire.CookieKey)
	}
	p.close()

	if p, err = launch(ctx, c, cookie, "PLUGIN_PROTOCOL_VERSIONS=7"); err != nil {
		return out, err
	}
	if f := strings.Split(p.line, "|"); len(f) > 1 && f[1] == "7" {
		found("version", "offered version 7 alone, it claims to speak it")
	}
	p.close()

	if p, err = launch(ctx, c, cookie, "PLUGIN_PROTOCOL_VERSIONS=1,7"); err != nil {
		return out, err
	}
	defer p.close()
	address, err := host.CheckHandshake(p.line, p.dir.Own)
	if err != nil {
		found("handshake", "offered versions 1 and 7, the first line on standard output is no handshake of version 1")
		return out, nil
	}
	// Only the process leads to its socket: in the sandbox no path does.
	dial := func(ctx context.Context, _ string) (net.Conn, error) { return p.Dial(ctx, p.dir.Own, address) }
	if err := unknown(ctx, dial, mechanism, req); err != nil {
		found("unknown-fields", "%v", err)
	}
	p.EndInput()
	if !p.ended(within) {
		found("lifeline", "it still runs %v after the end of its standard input; the host was gone", within)
	}
	return out, nil
}

// later calls a method that the protocol does not have. Whatever the answer is, it must not end the plugin.
func later(ctx context.Context, conn *grpc.ClientConn, extra []byte) {
	m := &wire.DescribeRequest{}
	m.ProtoReflect().SetUnknown(extra)
	_ = conn.Invoke(ctx, "/dprelease.plugin.v1.Mechanism/Later", m, &wire.DescribeResponse{})
	_ = conn.Invoke(ctx, "/dprelease.plugin.v9.Later/Later", m, &wire.DescribeResponse{})
}

// unknown sends the same request with and without fields that the protocol does not have, and after a
// method that it does not have: the plan must be the same.
func unknown(ctx context.Context, dial func(context.Context, string) (net.Conn, error), mechanism string, req sdk.PlanRequest) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	conn, err := grpc.NewClient("passthrough:plugin", grpc.WithContextDialer(dial), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	client := wire.NewMechanismClient(conn)
	extra := protowire.AppendVarint(protowire.AppendTag(nil, 1000, protowire.VarintType), 1)
	var plain *wire.Plan
	for _, add := range []func(*wire.PlanRequest){
		func(*wire.PlanRequest) {},
		func(m *wire.PlanRequest) { m.ProtoReflect().SetUnknown(extra) },
		func(m *wire.PlanRequest) { m.GetPublic().ProtoReflect().SetUnknown(extra) },
		func(m *wire.PlanRequest) { m.GetPublic().GetColumns()[0].ProtoReflect().SetUnknown(extra) },
		func(*wire.PlanRequest) { later(ctx, conn, extra) },
	} {
		m, err := wire.FromPlanRequest(mechanism, req)
		if err != nil {
			return err
		}
		add(m)
		answer, err := client.Plan(ctx, m)
		planned := err == nil && answer.GetPlan() != nil
		switch {
		case plain == nil && !planned:
			return errors.New("over a connection of its own it does not plan what it planned before")
		case plain == nil:
			plain = answer.GetPlan()
		case !planned:
			return errors.New("it refuses a request with a field that the protocol does not have; a later host may say more")
		case !proto.Equal(plain, answer.GetPlan()):
			return errors.New("it plans otherwise when a request has a field that the protocol does not have")
		}
	}
	return nil
}
