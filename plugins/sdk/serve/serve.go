package serve

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/hashicorp/go-hclog"
	plugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/dprelease/dprelease/internal/wire"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// Mechanisms answers a host's calls to these mechanisms until the host ends the
// process. Run by hand, without a host, it explains itself on stderr and exits with
// status 1. It panics if the mechanisms are not distinct and described: that is a
// mistake in the program, not in its input.
func Mechanisms(mechanisms ...sdk.Mechanism) {
	s, err := newServer(mechanisms)
	if err != nil {
		panic(err)
	}
	if os.Getenv(wire.CookieKey) == wire.CookieValue {
		go exitWithHost(os.Stdin, os.Exit)
	}
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion:  wire.Version,
			MagicCookieKey:   wire.CookieKey,
			MagicCookieValue: wire.CookieValue,
		},
		Plugins: plugin.PluginSet{wire.PluginName: &servePlugin{server: s}},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(opts...)
		},
		// Nothing that a plugin says about rows may reach a log.
		Logger: hclog.NewNullLogger(),
	})
}

// exitWithHost ends the process when the host is gone. The host holds the other end of
// stdin and never writes to it, so the stream ends when the host does, whatever the
// cause.
func exitWithHost(lifeline io.Reader, exit func(int)) {
	_, _ = io.Copy(io.Discard, lifeline)
	exit(0)
}

// servePlugin is the mechanism server in the form that go-plugin wants.
type servePlugin struct {
	plugin.NetRPCUnsupportedPlugin
	server *server
}

// GRPCServer registers the mechanism server.
func (p *servePlugin) GRPCServer(broker *plugin.GRPCBroker, s *grpc.Server) error {
	p.server.dial = func(id uint32) (*grpc.ClientConn, error) { return broker.Dial(id) }
	wire.RegisterMechanismServer(s, p.server)
	return nil
}

// GRPCClient is not used: the host has its own end.
func (*servePlugin) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, fmt.Errorf("serve: the plugin end cannot be a client")
}
