//go:build linux

package host

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dprelease/dprelease/internal/plugin/sandbox"
)

// A handshake that names somebody else's socket is refused before anything
// connects to it.
func TestForeignAddress(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/tmp", "foreign-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	unixL, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	touched := make(chan string, 8)
	for _, l := range []net.Listener{tcp, unixL} {
		defer l.Close()
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				// A peer that is refused is closed before a byte is sent.
				_ = c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
				if n, _ := c.Read(make([]byte, 1)); n > 0 {
					touched <- l.Addr().String()
				}
				c.Close()
			}
		}()
	}
	for name, args := range map[string][]string{
		"tcp":       {"address", marker(), "tcp", tcp.Addr().String()},
		"unix":      {"address", marker(), "unix", unixL.Addr().String()},
		"dotted":    {"address", marker(), "unix", "../../" + unixL.Addr().String()},
		"link":      {"link", marker(), unixL.Addr().String()},
		"link-self": {"link", marker(), "s"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Start(context.Background(), command(t, args[0], args[1:]...), Limits{})
			checkCode(t, err, CodeProtocol)
			checkGone(t, args[1], "")
		})
	}
	select {
	case a := <-touched:
		t.Errorf("the host spoke to %s", a)
	case <-time.After(50 * time.Millisecond):
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("DATABASE_PASSWORD", strconv.Itoa(secret))
	t.Setenv("PLUGIN_PASSWORD", strconv.Itoa(secret))
	t.Setenv("GODEBUG", "http2debug=2")
	// A descriptor that this process would hand to every child.
	fd, err := syscall.Open("/etc/passwd", syscall.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	p := start(t, "inside", Limits{})
	d, err := p.Describe(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var in struct {
		Env, FDs  []string
		Stdin, WD string
		Core      uint64
	}
	if err := json.Unmarshal(d.Params, &in); err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, kv := range in.Env {
		k, v, _ := strings.Cut(kv, "=")
		keys = append(keys, k)
		if strings.Contains(v, strconv.Itoa(secret)) {
			t.Errorf("secret leaked in %s", k)
		}
	}
	slices.Sort(keys)
	want := []string{"DPRELEASE_PLUGIN", "DPRELEASE_PLUGIN_ID", "GOMAXPROCS" /* of what is of this build */, "HOME", "LANG", "LC_ALL", "PATH", "PLUGIN_MAX_PORT",
		"PLUGIN_MIN_PORT", "PLUGIN_PROTOCOL_VERSIONS", "PLUGIN_UNIX_SOCKET_DIR", "PYTHONDONTWRITEBYTECODE", "TMPDIR", "TZ"}
	if !slices.Equal(keys, want) {
		t.Errorf("environment %v, want %v", keys, want)
	}
	if !strings.HasPrefix(in.Stdin, "p") {
		t.Errorf("stdin is %s, want a pipe", in.Stdin)
	}
	if in.Core > 1 {
		t.Errorf("core dumps of %d bytes are possible", in.Core)
	}
	if in.WD != p.dir.Own {
		t.Errorf("working directory is %s", in.WD)
	}
	for _, fd := range in.FDs {
		if n, to, _ := strings.Cut(fd, "="); len(n) == 1 && n < "3" && !strings.HasPrefix(to, "pipe:") {
			t.Errorf("descriptor %s", fd)
		} else if strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "/proc/") && !strings.HasPrefix(to, "/sys/") {
			t.Errorf("descriptor %s", fd)
		}
	}
	st, err := os.Stat(p.dir.Path)
	if err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("private directory: %v, %v", st.Mode(), err)
	}
}

func digest(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// otherBuild is a copy of this binary that says it is built from other sources.
func otherBuild(t *testing.T) string {
	return copyOfSelf(t, func(b []byte) []byte {
		return regexp.MustCompile("\tgithub.com/dprelease/dprelease\t[^\t\n]+\t").ReplaceAllFunc(b, func(version []byte) []byte {
			return append(bytes.Clone(version[:len(version)-2]), 'x', '\t')
		})
	})
}

// copyOfSelf is another file than this binary, with its bytes after a change.
func copyOfSelf(t *testing.T, change func([]byte) []byte) string {
	t.Helper()
	b, err := os.ReadFile(self(t))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "companion")
	if err := os.WriteFile(path, change(b), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// A program of the same build that lies beside this one serves as this one does, and is confined as any plugin.
func TestSameBuild(t *testing.T) {
	path := copyOfSelf(t, func(b []byte) []byte { return b })
	for _, mode := range []sandbox.Mode{sandbox.Off, sandbox.Best, sandbox.Required} {
		c := Command{Name: "sum", Path: path, Args: []string{"plugin", "good"}, Confine: sandbox.Confinement{Mode: mode}}
		if _, err := whole(t, c, Limits{}); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
	}
	exe, err := Command{Name: "sum", Path: path}.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer exe.Close()
	// What is opened once is what runs, whatever lies there later.
	if err := os.Rename(otherBuild(t), path); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		c := Command{Name: "sum", Path: path, Opened: exe, Args: []string{"plugin", "good"}, Confine: sandbox.Confinement{Mode: sandbox.Required}}
		p, err := Start(t.Context(), c, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if !p.Confined().Full() {
			t.Errorf("it is confined by %s", p.Confined())
		}
		p.Close()
	}
}

// A failure to confine advises something else than what the job says already.
func TestUnconfined(t *testing.T) {
	for mode, want := range map[sandbox.Mode]string{sandbox.Required: "sandbox: best", sandbox.Best: "sandbox: off"} {
		p := &Plugin{running: &running{}, cmd: Command{Name: "p", Confine: sandbox.Confinement{Mode: mode}}}
		says := p.unconfined(&sandbox.Unconfined{Why: errors.New("no")}).Error()
		if strings.Count(says, "sandbox: ") != 1 || !strings.Contains(says, want) {
			t.Errorf("%s: %s", mode, says)
		}
	}
}

func TestChecksum(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "plugin.sh")
	write := func(body string) {
		if err := os.WriteFile(script, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	exec := "exec " + self(t) + " plugin good"
	write(exec)
	c := Command{Name: "script", Path: script, SHA256: digest(t, script)}
	for range 2 { // the same command twice: nothing of the first check is kept
		if _, err := whole(t, c, Limits{}); err != nil {
			t.Fatal(err)
		}
	}
	upper := c
	upper.SHA256 = strings.ToUpper(c.SHA256)
	if _, err := whole(t, upper, Limits{}); err != nil {
		t.Error(err)
	}

	write("exit 1")
	for name, bad := range map[string]Command{
		"changed": c, // the file is "exit 1" now
		"short":   {Name: "x", Path: self(t), SHA256: "abcd"},
		"garbage": {Name: "x", Path: self(t), SHA256: strings.Repeat("zz", 32)},
	} {
		_, err := Start(context.Background(), bad, short)
		t.Log(name)
		checkCode(t, err, CodeChecksum)
	}
	for path, why := range map[string]string{
		script: "no program of dprelease", filepath.Join(dir, "no"): "no such file", otherBuild(t): "it is built from ",
	} {
		_, err := Start(context.Background(), Command{Name: "x", Path: path}, short)
		checkCode(t, err, CodeProgram)
		if !strings.Contains(err.Error(), path+": ") || !strings.Contains(err.Error(), why) {
			t.Errorf("%v, want %q in it", err, why)
		}
	}
	pipe, text := filepath.Join(dir, "pipe"), filepath.Join(dir, "text")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o700), os.WriteFile(text, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for path, why := range map[string]string{
		filepath.Join(dir, "no"): "no such file", dir: "a folder", pipe: "not a regular file", text: "not executable",
	} {
		_, err := Start(context.Background(), Command{Name: "x", Path: path, SHA256: c.SHA256}, short)
		checkCode(t, err, CodeStart)
		if !strings.Contains(err.Error(), why) {
			t.Errorf("%v, want %q in it", err, why)
		}
	}

	binary := Command{Name: "binary", Path: self(t), Args: []string{"plugin", "good"}, SHA256: digest(t, self(t))}
	if _, err := whole(t, binary, Limits{}); err != nil {
		t.Error(err)
	}
}

// lockedBuffer is a quarantine that can be looked at while it fills.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func TestFloods(t *testing.T) {
	for _, mode := range []string{"flood-stdout", "flood-stderr", "flood-both"} {
		t.Run(mode, func(t *testing.T) {
			q := &lockedBuffer{}
			m := marker()
			base, err := whole(t, command(t, mode, m), Limits{Quarantine: q, QuarantineBytes: 100_000})
			if err != nil {
				t.Error(err)
			}
			checkGone(t, m, base)
			q.mu.Lock()
			defer q.mu.Unlock()
			if n := q.b.Len(); n == 0 || n > 100_000 {
				t.Errorf("quarantine holds %d bytes", n)
			}
		})
	}
}

// What a plugin prints, panics with or fails with goes nowhere, not even where the
// host's own libraries log.
func TestNothingIsSaid(t *testing.T) {
	for mode, want := range map[string]string{
		"panic": CodeFailed, "failure": CodeFailed, "flood-stderr": "<nil>", "raw stderr-value": CodeCrash, "garbage": CodeProtocol,
	} {
		t.Run(mode, func(t *testing.T) {
			host := exec.Command(self(t), append([]string{"plugin", "host", "run"}, strings.Fields(mode)...)...)
			host.Env = append(os.Environ(), "GRPC_GO_LOG_SEVERITY_LEVEL=info", "GRPC_GO_LOG_VERBOSITY_LEVEL=99")
			out, err := host.CombinedOutput()
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(out), strconv.Itoa(secret)) || bytes.Count(out, []byte("\n")) != 1 || !strings.Contains(string(out), want) {
				t.Errorf("the host printed %q", out)
			}
		})
	}
}

// The twin of TestNothingIsSaid: a host that hands on what a plugin prints shows a value, so the test sees one.
func TestShownIsSeen(t *testing.T) {
	for _, mode := range []string{"panic", "failure", "raw stderr-value"} {
		out, err := exec.Command(self(t), append([]string{"plugin", "host", "shows"}, strings.Fields(mode)...)...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), strconv.Itoa(secret)) {
			t.Errorf("%s: %v: the host printed %q", mode, err, out)
		}
	}
}

// P20, P21: what a plugin prints reaches nobody but the check on made-up rows, which the program that holds private rows does not link.
func TestOnlyTheCheckListens(t *testing.T) {
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if in := filepath.Base(filepath.Dir(path)); strings.Contains(string(text), "Quarantine") && in != "host" && in != "conformance" {
			t.Errorf("%s sets a quarantine", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestDescendants(t *testing.T) {
	for _, c := range []struct {
		mode   string
		sole   bool
		within sandbox.Mode
	}{
		{"grandchild", false, sandbox.Off}, {"grandchild-session", false, sandbox.Off}, {"daemon", true, sandbox.Off},
		{"grandchild", false, sandbox.Required}, {"grandchild-session", false, sandbox.Required}, {"daemon", false, sandbox.Required},
	} {
		t.Run(c.mode+" "+string(c.within), func(t *testing.T) {
			m := marker()
			cmd := command(t, c.mode, m)
			cmd.Confine.Mode = c.within
			p, err := Start(context.Background(), cmd, Limits{SoleParent: c.sole})
			if err != nil {
				t.Fatal(err)
			}
			waitAlive(t, m, 2)
			base := p.dir.Path
			p.Close()
			checkGone(t, m, base)
		})
	}
}

// A tree that is killed takes no process of another plugin with it.
func TestNeighbour(t *testing.T) {
	l := Limits{SoleParent: true}
	a, b := start(t, "good", l), start(t, "good", l)
	a.Close()
	if _, err := b.Describe(context.Background()); err != nil {
		t.Error(err)
	}
}

// A stopped process does not hold Close up: go-plugin's own Kill would wait for it
// for ever.
func TestCloseStopped(t *testing.T) {
	m := marker()
	p := start(t, "good", Limits{Grace: 200 * time.Millisecond}, m)
	if err := stopProcess(p); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	p.Close()
	if d := time.Since(began); d > time.Minute {
		t.Errorf("took %v", d)
	}
	checkGone(t, m, p.dir.Path)
	if _, err := p.Describe(context.Background()); err == nil {
		t.Error("a closed plugin answers")
	} else {
		checkCode(t, err, CodeClosed)
	}
}

// A host that is killed with SIGKILL cleans nothing up: the kernel ends its plugins,
// and the SDK ends whatever else watches its standard input.
func TestHostKilled(t *testing.T) {
	for _, c := range []struct {
		mode, sandbox string
		alive         int // the host, the plugin, and what descends from it
	}{{"good", "off", 2}, {"silent-after", "off", 2}, {"good", "required", 2}, {"grandchild-session", "required", 3}, {"daemon", "required", 3}} {
		mode := c.mode
		t.Run(mode+" "+c.sandbox, func(t *testing.T) {
			m := marker()
			tmp, err := os.MkdirTemp("/tmp", "killed-") // a host that is killed leaves its directory
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(tmp)
			host := exec.Command(self(t), "plugin", "host", "wait", mode, m)
			host.Env = append(os.Environ(), "TMPDIR="+tmp, "TEST_SANDBOX="+c.sandbox)
			out, err := host.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := host.Start(); err != nil {
				t.Fatal(err)
			}
			if line, _ := bufio.NewReader(out).ReadString('\n'); line != "started\n" {
				t.Fatalf("host said %q", line)
			}
			pids := waitAlive(t, m, c.alive)
			_ = host.Process.Kill()
			_ = host.Wait()
			// The orphan comes to this process, which other tests have made a reaper.
			defer func() {
				for _, pid := range pids {
					_, _ = syscall.Wait4(pid, nil, 0, nil)
				}
			}()
			for deadline := time.Now().Add(time.Minute); len(alive(t, m)) > 0 && time.Now().Before(deadline); {
				time.Sleep(5 * time.Millisecond)
			}
			checkGone(t, m, "")
		})
	}
}

// A child that this process had before the plugin is not the plugin's.
func TestOlderChild(t *testing.T) {
	m := marker()
	older := exec.Command(self(t), "plugin", "sleep", m)
	if err := older.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = older.Process.Kill()
		_ = older.Wait()
	}()
	time.Sleep(30 * time.Millisecond) // start times are counted in hundredths of a second
	p := start(t, "good", Limits{SoleParent: true})
	p.Close()
	if len(alive(t, m)) != 1 {
		t.Error("it was killed")
	}
}

// The parent-death signal is that of the thread that forked: a plugin must outlive
// the thread that asked for it.
func TestThreadEnds(t *testing.T) {
	started := make(chan *Plugin)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		p, err := Start(context.Background(), command(t, "good"), Limits{})
		if err != nil {
			t.Error(err)
		}
		started <- p
	}()
	p := <-started
	if p == nil {
		t.FailNow()
	}
	defer p.Close()
	time.Sleep(50 * time.Millisecond)
	if _, err := p.Describe(context.Background()); err != nil {
		t.Error(err)
	}
}

// Where no private folder can be made, it is said where, and not that the plugin is at fault.
func TestNoFolderForSockets(t *testing.T) {
	t.Setenv("TMPDIR", "/nonexistent")
	_, err := Start(context.Background(), command(t, "plugin"), Limits{})
	var e *Error
	if !errors.As(err, &e) || e.Code != CodeStart || !strings.Contains(err.Error(), "/nonexistent") || !strings.Contains(err.Error(), "TMPDIR") {
		t.Error(err)
	}
}
