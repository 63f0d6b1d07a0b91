package sandbox

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
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

// fill says what the launcher is to do.
func (o *orders) fill(exe *Executable, cmd Command, env []string) {
	o.Args, o.Env, o.Dir, o.Own = cmd.Args, env, cmd.Dir, exe.Own()
	o.Read, o.Memory, o.Watch, o.Full = cmd.Confine.Read, cmd.Confine.Memory, cmd.Confine.Watch != nil, cmd.Confine.Mode == Required
	if o.Memory == 0 {
		var info unix.Sysinfo_t
		if unix.Sysinfo(&info) == nil {
			o.Memory = int64(info.Totalram) * int64(info.Unit) / 2
		}
	}
}

// launchLimit is how long a launcher may take. It reads no file of anybody's.
const launchLimit = 10 * time.Second

// give sends the orders and waits for the answer.
func (o *orders) give(control *os.File) (Level, int, error) {
	listener := -1
	b, err := json.Marshal(o)
	if err != nil {
		return Level{}, listener, err
	}
	if len(b) > maxOrders {
		return Level{}, listener, errors.New("the arguments are too long")
	}
	_ = control.SetDeadline(time.Now().Add(launchLimit))
	if _, err := control.Write(b); err != nil {
		return Level{}, listener, err
	}
	raw, err := control.SyscallConn()
	if err != nil {
		return Level{}, listener, err
	}
	buf, rights := make([]byte, maxOrders), make([]byte, unix.CmsgSpace(4))
	var n, oob int
	var rerr error
	if err := raw.Read(func(fd uintptr) bool {
		n, oob, _, _, rerr = unix.Recvmsg(int(fd), buf, rights, unix.MSG_CMSG_CLOEXEC)
		return rerr != unix.EAGAIN
	}); err != nil {
		return Level{}, listener, err
	}
	if rerr == nil && n == 0 {
		rerr = io.ErrUnexpectedEOF
	}
	if rerr != nil {
		return Level{}, listener, rerr
	}
	if messages, err := unix.ParseSocketControlMessage(rights[:oob]); err == nil && len(messages) == 1 {
		if fds, err := unix.ParseUnixRights(&messages[0]); err == nil && len(fds) == 1 {
			listener = fds[0]
		}
	}
	var a answer
	if err := json.Unmarshal(buf[:n], &a); err != nil {
		return Level{}, listener, err
	}
	if a.Error != "" {
		if listener >= 0 {
			unix.Close(listener)
		}
		return Level{}, -1, &Unconfined{Why: errors.New(a.Error), namespaces: o.Namespaces && !a.Level.Namespaces}
	}
	if o.why != "" {
		a.Level.Missing = append(a.Level.Missing, o.why)
	}
	return a.Level, listener, nil
}
