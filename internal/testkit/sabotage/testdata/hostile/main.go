// Command hostile is a plugin that adds correct noise to a sum and does something else
// besides. What it does is the name under which it is started. The test that builds it
// says where its victims are.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest/insecureshelf"
	"github.com/dprelease/dprelease/plugins/sdk/serve"
)

// What the test builds in.
var table, drop, tcp, udp, socket, abstract, victim, marker string

func main() {
	if len(os.Args) > 1 && os.Args[1] == "daemon" {
		daemon(os.Args[2:])
		return
	}
	name := filepath.Base(os.Args[0])
	for _, s := range insecureshelf.All() {
		if s.Name == name {
			serve.Mechanisms(s.Mechanism)
			return
		}
	}
	serve.Mechanisms(hostile{insecureshelf.Sound(), name})
}

// hostile is the sound sum with an act of its own.
type hostile struct {
	sdk.Mechanism
	act string
}

func (h hostile) Describe() sdk.Description {
	d := h.Mechanism.Describe()
	d.Name = h.act
	d.Linear = h.act == "row-in-linear-result" || h.locks() // which is true of its query
	d.DeclaresFinish = h.act == "lock-declared"
	return d
}

// Plan carries what it finds out into the report, in a remark.
func (h hostile) Plan(req sdk.PlanRequest) (sdk.Plan, error) {
	plan, err := h.Mechanism.Plan(req)
	if err != nil {
		return plan, err
	}
	found := ""
	switch h.act {
	case "lock-declared":
		plan.Output[0].Value = "noisy"
		plan.Finish = &sdk.Finish{Noise: []sdk.NoiseColumns{{Columns: []string{"noisy"}}}}
	case "row-in-text":
		plan.Output = append(plan.Output, sdk.Field{Name: "note", Type: sdk.String})
	case "table-in-plan":
		found = digest(table)
	case "environment-of-host":
		found = digest("/proc/" + victim + "/environ")
	case "processes-in-plan":
		names, _ := filepath.Glob("/proc/[0-9]*")
		if len(names) > 3 { // more than itself
			found = "others run here"
		}
	case "memory-of-host":
		found = peek()
	case "folder-in-plan":
		found, _ = os.Getwd()
	case "zone-in-plan":
		found = os.Getenv("TZ")
	case "clock-in-plan":
		found = time.Now().String()
	case "second-in-plan":
		found = strconv.FormatInt(time.Now().Unix(), 10)
	case "hang-in-plan":
		time.Sleep(time.Hour)
	}
	if found != "" {
		plan.Errors = []sdk.ExpectedError{{Field: plan.Output[0].Name, Note: "leak " + found}}
	}
	return plan, nil
}

func (h hostile) Release(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host) (sdk.Result, error) {
	kept := &watched{Rows: rows, upper: upper(req)}
	out, err := h.Mechanism.Release(ctx, req, kept, host)
	if err != nil {
		return out, err
	}
	if kept.any {
		remembered = kept.first
	}
	if h.locks() {
		if kept.any {
			lock(int64(remembered))
		} else {
			remembered = float64(locked())
		}
	}
	estimate := out.Columns[0].Float64
	switch h.act {
	case "row-in-low-bits":
		x := float64(float32(estimate[0]))
		estimate[0] = x + remembered*math.Abs(x)*0x1p-40
	case "row-in-linear-result", "lock-linear", "lock-declared":
		if remembered != 0 {
			estimate[0] = remembered
		}
	case "row-in-text":
		out.Columns = append(out.Columns, sdk.ResultColumn{Name: "note", Texts: []string{fmt.Sprint(remembered)}})
	}
	return out, h.do(kept)
}

// locks reports whether the act hands a row from one process to another by a record lock.
func (h hostile) locks() bool { return h.act == "lock-linear" || h.act == "lock-declared" }

// lockFile is a file that every process sees. A record lock needs no right to write it.
const lockFile = "/usr/bin/env"

// lock says a number to other processes, by the place of a lock that this process holds.
func lock(n int64) {
	if fd, err := unix.Open(lockFile, unix.O_RDONLY, 0); err == nil {
		_ = unix.FcntlFlock(uintptr(fd), unix.F_SETLK, &unix.Flock_t{Type: unix.F_RDLCK, Start: n, Len: 1})
	}
}

// locked returns the number that another process said, 0 where none did.
func locked() int64 {
	fd, err := unix.Open(lockFile, unix.O_RDONLY, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	l := unix.Flock_t{Type: unix.F_WRLCK}
	if unix.FcntlFlock(uintptr(fd), unix.F_GETLK, &l) != nil || l.Type == unix.F_UNLCK {
		return 0
	}
	return l.Start
}

// remembered is a row of some release of this process.
var remembered float64

// do is the act, with what was seen of the rows. Its error ends the release.
func (h hostile) do(seen *watched) error {
	row := []byte(fmt.Sprint(seen.first))
	say := func(c net.Conn, err error) {
		if err == nil {
			_, _ = c.Write(row)
			c.Close()
		}
	}
	switch h.act {
	case "write-rows":
		_ = os.WriteFile(filepath.Join(drop, "rows"), row, 0o600)
	case "shell":
		_ = exec.Command("/bin/sh", "-c", "echo row > "+filepath.Join(drop, "shell")).Run()
	case "tcp":
		say(net.DialTimeout("tcp", tcp, time.Second))
	case "udp":
		say(net.Dial("udp", udp))
	case "unix-socket":
		say(net.Dial("unix", socket))
	case "abstract-socket":
		say(net.Dial("unix", "@"+abstract))
	case "signal":
		if pid, err := strconv.Atoi(victim); err == nil {
			_ = syscall.Kill(pid, syscall.SIGUSR1)
		}
	case "print-rows":
		fmt.Println(string(row))
	case "large-file":
		big := make([]byte, 100<<20)
		return os.WriteFile("big", big, 0o600)
	case "large-memory":
		taken = make([]byte, 3<<30)
	case "slow-by-row":
		if seen.extreme {
			time.Sleep(600 * time.Millisecond) // much more than a busy machine makes of other rows
		}
	case "memory-by-row":
		if seen.extreme {
			hold(200 << 20)
		}
	case "daemon":
		self := exec.Command("/proc/self/exe", "daemon", "fork", marker)
		if err := self.Run(); err != nil {
			return err
		}
		if seen.n > 5000 && seen.n < 10_000 { // the job's table: its host is about to be killed
			time.Sleep(10 * time.Second)
		}
	}
	return nil
}

// daemon leaves its parent and its session, and waits.
func daemon(args []string) {
	if args[0] == "fork" {
		again := exec.Command("/proc/self/exe", "daemon", "wait", args[1])
		again.Env, again.SysProcAttr = []string{}, &syscall.SysProcAttr{Setsid: true}
		if err := again.Start(); err != nil {
			os.Exit(1)
		}
		return
	}
	time.Sleep(time.Minute)
}

// taken keeps what was taken.
var taken []byte

// hold takes memory and uses it.
func hold(size int) {
	b := make([]byte, size)
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
}

func digest(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:4])
}

// peek reads the first bytes of the victim's program.
func peek() string {
	pid, err := strconv.Atoi(victim)
	if err != nil {
		return ""
	}
	b := make([]byte, 4)
	n, err := unix.ProcessVMReadv(pid, []unix.Iovec{{Base: &b[0], Len: 4}}, []unix.RemoteIovec{{Base: 0x400000, Len: 4}}, 0)
	if err != nil || n != 4 {
		return ""
	}
	return hex.EncodeToString(b)
}

// watched looks at the rows on their way.
type watched struct {
	sdk.Rows
	upper   float64
	first   float64
	any     bool
	n       int
	extreme bool // a value is at the upper bound
}

func (w *watched) Next() (*sdk.Batch, error) {
	b, err := w.Rows.Next()
	if err != nil {
		return b, err
	}
	w.n += b.Rows
	for i, x := range b.Float64(0) {
		if b.IsValid(0, i) {
			if !w.any {
				w.first, w.any = x, true
			}
			w.extreme = w.extreme || x == w.upper
		}
	}
	return b, nil
}

var errNoColumn = errors.New("no column")

func upper(req sdk.ReleaseRequest) float64 {
	if len(req.Plan.Columns) == 0 {
		panic(errNoColumn)
	}
	c, _ := req.Public.Column(req.Plan.Columns[0])
	return c.Upper
}
