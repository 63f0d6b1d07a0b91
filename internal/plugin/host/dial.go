package host

import (
	"context"
	"errors"
	"net"

	"google.golang.org/grpc"

	"github.com/dprelease/dprelease/internal/plugin/wire"
)

// brokerStream is the stream on which a plugin could announce sockets of its own to the host. A
// mechanism has none, and each would cost memory, so the first announcement ends the stream.
const brokerStream = "/plugin.GRPCBroker/StartStream"

var errBroker = errors.New("plugin must not announce sockets")

// dialOptions are the options of go-plugin, with limits where it sets none.
func (p *Plugin) dialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return p.runner.process().Dial(ctx, p.runner.dir, p.runner.socket())
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(wire.MaxMessage), grpc.MaxCallSendMsgSize(wire.MaxMessage)),
		grpc.WithMaxHeaderListSize(64 << 10),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, d *grpc.StreamDesc, cc *grpc.ClientConn, method string, next grpc.Streamer,
			opts ...grpc.CallOption) (grpc.ClientStream, error) {
			s, err := next(ctx, d, cc, method, opts...)
			if err == nil && method == brokerStream {
				s = deafStream{s}
			}
			return s, err
		}),
	}
}

// deafStream fails on the first message that it receives.
type deafStream struct{ grpc.ClientStream }

func (s deafStream) RecvMsg(m any) error {
	if err := s.ClientStream.RecvMsg(m); err != nil {
		return err
	}
	return errBroker
}
