package python

import "embed"

// SDK is the Python package, as the folder dprelease.
//
//go:embed dprelease/*.py dprelease/protocol.binpb
var SDK embed.FS

//go:generate -command protocol protoc --proto_path=../../specs/plugin/v1 --include_imports --descriptor_set_out=dprelease/protocol.binpb
//go:generate protocol mechanism.proto grpc_broker.proto grpc_controller.proto health.proto
