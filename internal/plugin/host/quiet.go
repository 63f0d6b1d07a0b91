package host

import (
	"io"

	"google.golang.org/grpc/grpclog"
)

// gRPC prints to the host's stderr what a peer made it complain about, and at the
// user's wish much more. A plugin's words must not get there (P20). The logger can
// only be replaced before gRPC is first used, hence here.
func init() { grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard)) }
