package host

import (
	"bufio"
	"errors"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/dprelease/dprelease/internal/plugin/wire"
)

// maxHandshake is the longest handshake line that is read.
const maxHandshake = 4096

var errHandshake = errors.New("handshake is not that of a plugin")

// CheckHandshake returns the socket that a handshake line names. Nothing but a
// unix socket directly inside dir is accepted: not TCP, not another directory, not
// an abstract name.
func CheckHandshake(line, dir string) (socket string, err error) {
	// core version | protocol version | network | address | protocol | certificate
	f := strings.Split(strings.TrimSpace(line), "|")
	if len(f) < 5 || len(f) > 7 || f[0] != "1" || f[1] != strconv.Itoa(wire.Version) || f[2] != "unix" || f[4] != "grpc" ||
		(len(f) > 5 && f[5] != "") {
		return "", errHandshake
	}
	if filepath.Clean(f[3]) != f[3] || filepath.Dir(f[3]) != dir {
		return "", errHandshake
	}
	return f[3], nil
}

// readHandshake reads the first line of out, hands a good one on, and drains the
// rest for as long as the plugin lives: a plugin whose pipe is full would freeze,
// and so would go-plugin's own reader on a line of over 64 KiB. A line that is
// no handshake goes to bad, which hears whether the plugin ended it or said no more.
func readHandshake(out io.Reader, dir string, q io.Writer, good func(line, socket string), bad func(ended bool)) {
	r := bufio.NewReaderSize(out, maxHandshake)
	line, err := r.ReadSlice('\n')
	ended := err == nil || err == bufio.ErrBufferFull
	if err == nil {
		var socket string
		if socket, err = CheckHandshake(string(line), dir); err == nil {
			good(string(line), socket)
		}
	}
	if err != nil {
		_, _ = q.Write(line)
		bad(ended)
	}
	_, _ = io.Copy(q, r)
}
