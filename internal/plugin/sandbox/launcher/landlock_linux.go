package launcher

import (
	"errors"
	"fmt"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// The rights of a tree on the files of a rule. A file takes only the rights of files.
const (
	ofFiles = landlock.AccessFSExecute | landlock.AccessFSReadFile | landlock.AccessFSWriteFile | landlock.AccessFSTruncate
	reading = landlock.AccessFSExecute | landlock.AccessFSReadFile | landlock.AccessFSReadDir
	device  = landlock.AccessFSReadFile | landlock.AccessFSWriteFile
	// Where the tree's own folder is on a disk, it makes sockets there and nothing that takes room.
	sockets = landlock.AccessFSReadFile | landlock.AccessFSReadDir | landlock.AccessFSMakeSock | landlock.AccessFSRemoveFile |
		landlock.AccessFSResolveUnix
	// The host's sockets, and the files beside the executable.
	meeting = landlock.AccessFSExecute | landlock.AccessFSReadFile | landlock.AccessFSReadDir | landlock.AccessFSResolveUnix
	writing = landlock.AccessFSReadFile | landlock.AccessFSReadDir | landlock.AccessFSWriteFile | landlock.AccessFSTruncate |
		landlock.AccessFSMakeReg | landlock.AccessFSMakeDir | landlock.AccessFSMakeSym | landlock.AccessFSMakeSock |
		landlock.AccessFSRemoveFile | landlock.AccessFSRemoveDir | landlock.AccessFSRefer | landlock.AccessFSResolveUnix
)

// handled are the rights that a version of the kernel's rules knows.
func handled(version int) landlock.RulesetAttr {
	a := landlock.RulesetAttr{HandledAccessFS: 1<<13 - 1}
	for _, later := range []struct {
		since           int
		fs, net, scoped uint64
	}{
		{since: 2, fs: landlock.AccessFSRefer},
		{since: 3, fs: landlock.AccessFSTruncate},
		{since: 4, net: landlock.AccessNetBindTCP | landlock.AccessNetConnectTCP},
		{since: 5, fs: landlock.AccessFSIoctlDev},
		{since: 6, scoped: landlock.ScopeAbstractUnixSocket | landlock.ScopeSignal},
		{since: 9, fs: landlock.AccessFSResolveUnix},
		{since: 10, net: landlock.AccessNetBindUDP | landlock.AccessNetConnectSendUDP},
	} {
		if version >= later.since {
			a.HandledAccessFS |= later.fs
			a.HandledAccessNet |= later.net
			a.Scoped |= later.scoped
		}
	}
	return a
}

// landlock holds this thread, and what it executes, to the files that the tree may use. It
// keeps it from ports, and from signals and abstract sockets of others, as far as the
// kernel's version goes, which it returns.
func (o *Orders) landlock() (version int, err error) {
	version, err = landlock.LandlockGetABIVersion()
	if err != nil || version < 1 {
		return 0, errors.New("the kernel does not have it, or it is not enabled")
	}
	attr := handled(version)
	rules, err := landlock.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(rules)
	allow := func(paths []string, rights uint64) error {
		for _, path := range paths {
			fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
			if err != nil {
				continue // what is not there needs no rule
			}
			err = addRule(rules, fd, rights&attr.HandledAccessFS)
			unix.Close(fd)
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
		return nil
	}
	mine, rights, shared := []string{OwnFolder(o.Dir)}, uint64(sockets), []string{o.Dir}
	if o.Namespaces {
		mine, rights = append(mine, "/tmp"), writing
		if err := allow([]string{"/proc"}, landlock.AccessFSReadFile|landlock.AccessFSReadDir); err != nil { // the tree's own processes
			return 0, err
		}
	}
	if o.Own {
		if err := addRule(rules, exeFD, landlock.AccessFSExecute|landlock.AccessFSReadFile); err != nil {
			return 0, err
		}
	}
	if err := errors.Join(allow(o.System, reading), allow(o.Read, reading), allow(Devices, device), allow(mine, rights),
		allow(shared, meeting)); err != nil {
		return 0, err
	}
	if err := landlock.LandlockRestrictSelf(rules, 0); err != nil {
		return 0, err
	}
	return version, nil
}

// addRule allows what is beneath a descriptor.
func addRule(rules, fd int, rights uint64) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= ofFiles
	}
	return landlock.LandlockAddPathBeneathRule(rules, &landlock.PathBeneathAttr{ParentFd: fd, AllowedAccess: rights}, 0)
}
