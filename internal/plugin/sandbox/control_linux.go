package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dprelease/dprelease/internal/guard"
	"github.com/dprelease/dprelease/internal/plugin/sandbox/launcher"
)

// newNamespaces are those of a tree. In them it is who this process is, so that files are
// as they were, and the launcher may set them up.
func newNamespaces() *unix.SysProcAttr {
	as := func(id int) []syscall.SysProcIDMap {
		return []syscall.SysProcIDMap{{ContainerID: id, HostID: id, Size: 1}}
	}
	return &unix.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC |
			unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP,
		UidMappings: as(os.Getuid()), GidMappings: as(os.Getgid()),
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP},
	}
}

// controlPair is a socket between this process and a launcher, which keeps messages apart.
func controlPair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	// The launcher's end blocks.
	if err := unix.SetNonblock(fds[1], false); err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), "control"), os.NewFile(uintptr(fds[1]), "control"), nil
}

// orders are those of a launcher.
type orders struct {
	launcher.Orders
	why string // this process alone: why there are no namespaces
}

// fill sets what the launcher is to do.
func (o *orders) fill(exe *Executable, cmd Command, env []string) {
	o.Args, o.Env, o.Dir, o.Own, o.System = cmd.Args, env, cmd.Dir, exe.Own(), exe.needs
	o.Read, o.Memory, o.Watch = cmd.Confine.Read, cmd.Confine.Memory, cmd.Confine.Watch != nil
	o.Least = leastOf(cmd.Confine.Mode, exe.Own())
	if o.Memory == 0 {
		var info unix.Sysinfo_t
		if unix.Sysinfo(&info) == nil {
			o.Memory = int64(info.Totalram) * int64(info.Unit) / 2
		}
	}
}

// given is the answer of a launcher, with the descriptors that came with it.
type given struct {
	level    Level
	folder   *os.File // the tree's own folder; nil: its path leads there
	listener int      // what tells of the tree's calls; -1: nothing does
}

// give sends the orders and waits for the answer, until ctx ends: how long a start may take on a machine
// with much else to do is for whoever starts to say.
func (o *orders) give(ctx context.Context, control *os.File) (given, error) {
	none := given{listener: -1}
	b, err := json.Marshal(o)
	if err != nil {
		return none, err
	}
	if len(b) > launcher.MaxOrders {
		return none, errors.New("the arguments are too long")
	}
	defer context.AfterFunc(ctx, func() {
		guard.Quietly(func() { _ = control.SetDeadline(time.Unix(1, 0)) })
	})()
	if _, err := control.Write(b); err != nil {
		return none, err
	}
	text, fds, err := hear(control)
	if err != nil {
		return none, err
	}
	var a launcher.Answer
	if err := json.Unmarshal(text, &a); err != nil {
		closeAll(fds)
		return none, err
	}
	if a.Error != "" {
		closeAll(fds)
		return none, &Unconfined{Why: errors.New(a.Error), namespaces: o.Namespaces && !a.Level.Namespaces}
	}
	if o.why != "" {
		a.Level.Missing = append(a.Level.Missing, o.why)
	}
	g := given{level: a.Level, listener: -1}
	if a.Folder && len(fds) > 0 {
		g.folder, fds = os.NewFile(uintptr(fds[0]), "folder"), fds[1:]
	}
	if a.Listener && len(fds) > 0 {
		g.listener = fds[0]
	}
	return g, nil
}

// hear reads the launcher's answer and the descriptors that come with it.
func hear(control *os.File) (text []byte, fds []int, err error) {
	raw, err := control.SyscallConn()
	if err != nil {
		return nil, nil, err
	}
	buf, rights := make([]byte, launcher.MaxOrders), make([]byte, unix.CmsgSpace(2*4))
	var n, oob int
	var rerr error
	if err := raw.Read(func(fd uintptr) bool {
		n, oob, _, _, rerr = unix.Recvmsg(int(fd), buf, rights, unix.MSG_CMSG_CLOEXEC)
		return rerr != unix.EAGAIN
	}); err != nil {
		return nil, nil, err
	}
	if rerr == nil && n == 0 {
		rerr = io.ErrUnexpectedEOF
	}
	if rerr != nil {
		return nil, nil, rerr
	}
	if messages, err := unix.ParseSocketControlMessage(rights[:oob]); err == nil && len(messages) == 1 {
		if fds, err = unix.ParseUnixRights(&messages[0]); err != nil {
			fds = nil
		}
	}
	return buf[:n], fds, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}
