package wire

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// The handshake of plugin-v1. The cookie keeps a plugin from being run by hand;
// it is no secret.
const (
	ProtocolVersion = 1
	CookieKey       = "DPRELEASE_PLUGIN"
	CookieValue     = "mechanism-v1"
	// PluginName is the one name under which a plugin serves Mechanism.
	PluginName = "mechanism"
)

// The limits of plugin-v1.
const (
	// MaxMessage bounds one message: the limit that gRPC libraries of every
	// language have by default, less room for framing.
	MaxMessage = 4<<20 - 64<<10
	// MaxNoiseMessage bounds one message of the Noise service.
	MaxNoiseMessage = 64 << 20
	// ChunkSize is how many bytes of the row stream go into one RowsChunk.
	ChunkSize = 1 << 20
	// BatchRows is the largest record batch. It is a multiple of 8, so that
	// bitmaps can be cut.
	BatchRows = 1 << 15
	// SampleChunk is how many indices go into one NextSampleResponse.
	SampleChunk = 1 << 17
	// ResultChunk is how many bytes of a result go into one ReleaseOutput.
	ResultChunk = 1 << 20
	// MaxDepth and MaxNodes bound an event.
	MaxDepth = 32
	MaxNodes = 1 << 14
)

var errUnknownField = errors.New("message has a field that version 1 of the protocol does not know")

// Known returns an error if m, or a message inside it, carries a field that this
// version of the protocol does not have. The host asks it of what a plugin says: a
// field of a claim that is silently dropped could be the one that makes it true.
func Known(m proto.Message) error {
	return walk(m.ProtoReflect(), 0, func(m protoreflect.Message) error {
		if len(m.GetUnknown()) > 0 {
			return errUnknownField
		}
		return nil
	})
}

// Forget removes the fields that this version of the protocol does not have from m
// and the messages inside it. A plugin does so with what the host says: whatever
// changes what a request means comes with a new version, so that what is left out
// here is nothing that a claim could depend on. It fails on nothing but a message
// that is nested too deeply.
func Forget(m proto.Message) error {
	return walk(m.ProtoReflect(), 0, func(m protoreflect.Message) error {
		if len(m.GetUnknown()) > 0 {
			m.SetUnknown(nil)
		}
		return nil
	})
}

// walk visits m and the messages inside it.
func walk(m protoreflect.Message, depth int, visit func(protoreflect.Message) error) error {
	if depth > 4*MaxDepth {
		return fmt.Errorf("message is nested too deeply")
	}
	if err := visit(m); err != nil {
		return err
	}
	var err error
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if fd.Kind() != protoreflect.MessageKind {
			return true
		}
		if !fd.IsList() {
			err = walk(v.Message(), depth+1, visit)
			return err == nil
		}
		for i, l := 0, v.List(); i < l.Len() && err == nil; i++ {
			err = walk(l.Get(i).Message(), depth+1, visit)
		}
		return err == nil
	})
	return err
}
