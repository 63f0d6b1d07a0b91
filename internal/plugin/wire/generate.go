package wire

//go:generate protoc --proto_path=../../../specs/plugin/v1 --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative mechanism.proto
