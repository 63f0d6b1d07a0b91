package table

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"unicode"

	"github.com/dprelease/dprelease/internal/data/file"
	"github.com/dprelease/dprelease/internal/data/table/pagewalk"
)

// The codes of an Error: all that a caller may print about a failure after it has read a row.
const (
	CodeNotFound    = "not-found"          // the path names no file
	CodeUnreadable  = pagewalk.ReadFailed  // the operating system refused
	CodeUnreachable = "unreachable"        // no server answers, or not to the end
	CodeUntrusted   = "tls"                // a connection that cannot be encrypted as it must be
	CodeDenied      = "denied"             // the server or the store refuses the user
	CodeCorrupt     = pagewalk.Corrupt     // the bytes contradict the format or each other
	CodeUnsupported = pagewalk.Unsupported // perhaps valid, but not read here
	CodeLimit       = pagewalk.TooBig      // beyond a cap on memory, time or size
	CodeSchema      = "schema-differs"     // two files of one table disagree
	CodeColumn      = "no-such-column"     // a column that is not there, or not usable
	CodeChanged     = "changed"            // the file changed while it was read
	CodeUsage       = "invalid-argument"   // the caller asked for something impossible
)

// Error is every failure of this package, except a cancelled context and errors of the caller's own functions. Detail
// names structural facts (a column, a row group), never a value or a count derived from one. // P20
type Error struct {
	Code, File, Detail string
}

func (e *Error) Error() string {
	if e.File == "" {
		return e.Detail
	}
	return e.File + ": " + e.Detail
}

const maxDetail = 400

// fail makes an Error. Detail may hold names from the file, so fail replaces what cannot be printed and cuts long texts.
func fail(code, file, detail string) error {
	return &Error{Code: code, File: file, Detail: printable(detail)}
}

func printable(text string) string {
	if len(text) > maxDetail {
		text = text[:maxDetail] + "..."
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}

// refuse turns an error of a lower layer into an Error about a file. It drops the texts of foreign errors, because a
// decoder may quote what it read.
func refuse(name string, err error) error {
	var (
		known  *Error
		fault  *pagewalk.Fault
		system *fs.PathError
		other  *file.NotRegular
	)
	for of, code := range stores {
		if errors.Is(err, of) {
			return fail(code, name, of.Error())
		}
	}
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		if known.File == "" {
			return fail(known.Code, name, known.Detail)
		}
		return err
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &fault):
		return fail(fault.Code, name, fault.Detail)
	case errors.Is(err, fs.ErrNotExist):
		return fail(CodeNotFound, name, "no such file")
	case errors.Is(err, fs.ErrPermission):
		return fail(CodeUnreadable, name, "permission denied")
	case errors.Is(err, syscall.EMFILE):
		return fail(CodeUnreadable, name,
			"too many open files: a run needs about 100; raise the limit (ulimit -n)")
	case errors.As(err, &other):
		return fail(CodeUnsupported, name, other.Error())
	case errors.As(err, &system):
		return fail(CodeUnreadable, name, "the system cannot open or read it")
	}
	return fail(CodeCorrupt, name, "the file cannot be decoded")
}
