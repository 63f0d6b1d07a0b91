package wire

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// The handshake. The cookie keeps people from running a plugin by hand; it is no secret.
// Its value is the same in every version of the protocol, because both ends send it
// before they agree on a version.
const (
	// Version is the one version of the protocol. A host refuses every other.
	Version     = 1
	CookieKey   = "DPRELEASE_PLUGIN"
	CookieValue = "mechanism-v1"
	// PluginName is the one name under which a plugin serves Mechanism.
	PluginName = "mechanism"
)

// The limits of the protocol.
const (
	// MaxMessage bounds one message. gRPC libraries of every language accept 4 MiB by
	// default; the rest is room for framing.
	MaxMessage = 4<<20 - 64<<10
	// MaxNoiseMessage bounds one message of the Noise service.
	MaxNoiseMessage = 64 << 20
	// BatchRows is the most rows of one batch. It is a multiple of 64, so that
	// bitmaps can be cut.
	BatchRows = 1 << 15
	// SampleChunk is the number of indices in one NextSampleResponse.
	SampleChunk = 1 << 17
	// ResultChunk is the number of bytes of a result in one ReleaseOutput.
	ResultChunk = 1 << 20
	// MaxDepth and MaxNodes bound an event.
	MaxDepth = 32
	MaxNodes = 1 << 14
)

var errUnknownField = errors.New("message has a field that the protocol does not have")

// Known returns an error if m, or a message inside it, carries a field that the
// protocol does not have. The host calls it on what a plugin says: a field that the
// host drops could be the one that makes a claim true.
func Known(m proto.Message) error {
	return walk(m.ProtoReflect(), 0, func(m protoreflect.Message) error {
		if len(m.GetUnknown()) > 0 {
			return errUnknownField
		}
		return nil
	})
}

// AppendTexts appends the text of each row, and returns false if a code stands for none. Rows with one code share one text.
func (x *ResultColumn) AppendTexts(to []string) ([]string, bool) {
	texts, codes := x.GetString_(), x.GetCodes()
	if len(codes) == 0 {
		return append(to, texts...), true
	}
	to = slices.Grow(to, len(codes))
	for _, k := range codes {
		if int64(k) >= int64(len(texts)) {
			return nil, false
		}
		to = append(to, texts[k])
	}
	return to, true
}

// Forget removes the fields that the protocol does not have from m and the messages
// inside it. A plugin calls it on what the host says. A field that changes what a
// request means comes with a new version, so no claim depends on what Forget removes.
// It fails only on a message that is nested too deeply.
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
