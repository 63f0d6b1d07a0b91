package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/dprelease/dprelease/internal/plugin/wire"
)

// This file is the plugin's end of go-plugin's protocol (specs/plugin-v1.md, 3): as much as a host of
// mechanisms uses. The library itself serves more, net/rpc and TLS among them, and would make a small
// plugin half as large again.

var errByHand = errors.New("this is a plugin of dprelease, not to be run by hand; see dprelease plugin check")

// run shakes hands and serves until the host asks for the end.
func (s *server) run() error {
	if os.Getenv(wire.CookieKey) != wire.CookieValue {
		return errByHand
	}
	if !slices.Contains(strings.Split(os.Getenv("PLUGIN_PROTOCOL_VERSIONS"), ","), strconv.Itoa(wire.Version)) {
		return fmt.Errorf("the host does not speak version %d of the plugin protocol", wire.Version)
	}
	path := filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "mechanism")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false)   // the folder goes as a whole; a plugin that serves changes no file
	signal.Ignore(os.Interrupt) // the host is told, and decides
	// The stack of a worker grows once, that of a goroutine for each call.
	g, b := grpc.NewServer(grpc.NumStreamWorkers(1)), newBroker()
	s.dial = b.dial
	wire.RegisterMechanismServer(g, s)
	g.RegisterService(&brokerService, b)
	g.RegisterService(&controllerService, g)
	ready := health.NewServer()
	ready.SetServingStatus("plugin", healthpb.HealthCheckResponse_SERVING)
	healthpb.RegisterHealthServer(g, ready)
	fmt.Printf("1|%d|unix|%s|grpc|\n", wire.Version, path)
	return g.Serve(l)
}

// The services have one method each. Their messages are read by field number, because the
// generated ones of go-plugin are registered under their names in the host's own program.
var (
	brokerService = grpc.ServiceDesc{ServiceName: "plugin.GRPCBroker", HandlerType: (*any)(nil), Streams: []grpc.StreamDesc{{
		StreamName: "StartStream", ServerStreams: true, ClientStreams: true,
		Handler: func(b any, stream grpc.ServerStream) error { return b.(*broker).listen(stream) },
	}}}
	controllerService = grpc.ServiceDesc{ServiceName: "plugin.GRPCController", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{{
		MethodName: "Shutdown",
		Handler: func(g any, _ context.Context, _ func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			go g.(*grpc.Server).Stop()
			return &emptypb.Empty{}, nil
		},
	}}}
)

// broker knows the sockets that the host has announced.
type broker struct {
	mu   sync.Mutex
	told map[uint32]chan string
}

func newBroker() *broker { return &broker{told: map[uint32]chan string{}} }

// of returns the channel on which the path of a socket arrives.
func (b *broker) of(id uint32) chan string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.told[id] == nil {
		b.told[id] = make(chan string, 1)
	}
	return b.told[id]
}

// listen hears the host's announcements.
func (b *broker) listen(stream grpc.ServerStream) error {
	for {
		var m emptypb.Empty
		if err := stream.RecvMsg(&m); err != nil {
			return err
		}
		if id, path, ok := connInfo(m.ProtoReflect().GetUnknown()); ok {
			select {
			case b.of(id) <- path:
			default: // it was announced before
			}
		}
	}
}

// connInfo reads the fields service_id, network and address of a ConnInfo.
func connInfo(m []byte) (id uint32, path string, ok bool) {
	for len(m) > 0 {
		field, kind, n := protowire.ConsumeTag(m)
		if n < 0 {
			return 0, "", false
		}
		m = m[n:]
		switch {
		case field == 1 && kind == protowire.VarintType:
			v, _ := protowire.ConsumeVarint(m)
			id = uint32(v)
		case field == 2 && kind == protowire.BytesType:
			network, _ := protowire.ConsumeString(m)
			ok = network == "unix"
		case field == 3 && kind == protowire.BytesType:
			path, _ = protowire.ConsumeString(m)
		}
		if n = protowire.ConsumeFieldValue(field, kind, m); n < 0 {
			return 0, "", false
		}
		m = m[n:]
	}
	return id, path, ok && path != ""
}

// announced is the time that the host may take to announce a socket: it has much to do where it announces many.
const announced = time.Minute

// dial connects to a socket that the host announces.
func (b *broker) dial(id uint32) (*grpc.ClientConn, error) {
	select {
	case path := <-b.of(id):
		b.mu.Lock()
		delete(b.told, id)
		b.mu.Unlock()
		return grpc.NewClient("unix:"+path, grpc.WithTransportCredentials(insecure.NewCredentials()))
	case <-time.After(announced):
		return nil, errors.New("the host has not announced the socket")
	}
}
