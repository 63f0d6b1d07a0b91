package wire

//go:generate -command protocol protoc --proto_path=../../../specs/plugin/v1 --go_opt=paths=source_relative
//go:generate protocol --go_out=. --go-grpc_out=. --go-grpc_opt=paths=source_relative mechanism.proto
