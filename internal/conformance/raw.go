package conformance

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/dprelease/dprelease/internal/host"
	"github.com/dprelease/dprelease/internal/sandbox"
	"github.com/dprelease/dprelease/internal/wire"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
)

// Limits of the protocol for the start and the end of a process, with some room for a
// machine that is busy.
const (
	startLimit = 10 * time.Second
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
	env = append(env, "PLUGIN_UNIX_SOCKET_DIR="+dir.Path)
	started, err := sandbox.Start(exe, sandbox.Command{Args: append([]string{c.Path}, c.Args...), Env: env, Dir: dir.Path, Confine: confinement(c)})
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
	case <-time.After(startLimit):
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
	switch _, err := host.CheckHandshake(p.line, p.dir.Path); {
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

	if p, err = launch(ctx, c, cookie, "PLUGIN_PROTOCOL_VERSIONS=1,2,7"); err != nil {
		return out, err
	}
	defer p.close()
	address, err := host.CheckHandshake(p.line, p.dir.Path)
	if err != nil {
		found("handshake", "offered versions 1, 2 and 7, the first line on standard output is no handshake of version 1 or 2")
		return out, nil
	}
	if err := unknown(ctx, address, mechanism, req); err != nil {
		found("unknown-fields", "%v", err)
	}
	p.EndInput()
	if !p.ended(within) {
		found("lifeline", "it still runs %v after the end of its standard input; the host was gone", within)
	}
	return out, nil
}

// unknown sends the same request with and without fields that the protocol does not
// have: the plan must be the same.
func unknown(ctx context.Context, address, mechanism string, req sdk.PlanRequest) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	conn, err := grpc.NewClient("unix://"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
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
