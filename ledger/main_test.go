package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/dprelease/dprelease/privacy"
)

var background = context.Background()

// TestMain lets the test binary be a process that uses a ledger and can be killed.
func TestMain(m *testing.M) {
	if job := os.Getenv("LEDGER_TEST_WORK"); job != "" {
		os.Exit(work(job))
	}
	code := m.Run()
	stopServer()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if server.missing != "" {
		fmt.Fprintf(os.Stderr, "ledger: the tests on PostgreSQL were left out: %s\n", server.missing)
	}
	os.Exit(code)
}

// server is the PostgreSQL that all tests of this package share.
var server struct {
	once    sync.Once
	missing string // why there is none
	port    int
	dir     string
	cmd     *exec.Cmd
	n       atomic.Int64
}

// binaries is where the programs of the server are.
func binaries() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if p, err := exec.LookPath("initdb"); err == nil && len(found) == 0 {
		found = append(found, p)
	}
	if len(found) == 0 {
		return ""
	}
	return filepath.Dir(found[len(found)-1])
}

// unprivileged runs a command as somebody whom PostgreSQL accepts: it refuses root.
func unprivileged(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	cmd.Env = []string{"LC_ALL=C", "PATH=" + os.Getenv("PATH"), "HOME=" + server.dir}
	cmd.Dir = server.dir
	return cmd
}

func startServer() {
	bin := binaries()
	if bin == "" {
		server.missing = "its server programs (initdb, postgres) are not on this machine"
		return
	}
	fail := func(what string, err error, out []byte) {
		server.missing = fmt.Sprintf("%s: %v: %s", what, err, out)
	}
	var err error
	if server.dir, err = os.MkdirTemp("", "ledger-postgres-"); err != nil {
		fail("a folder", err, nil)
		return
	}
	if os.Getuid() == 0 {
		if err := os.Chown(server.dir, 65534, 65534); err != nil {
			fail("chown", err, nil)
			return
		}
	}
	data := filepath.Join(server.dir, "data")
	if out, err := unprivileged(exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-U", "ledger", "-A", "trust", "-E", "UTF8", "--no-sync")).CombinedOutput(); err != nil {
		fail("initdb", err, out)
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fail("a port", err, nil)
		return
	}
	server.port = l.Addr().(*net.TCPAddr).Port
	l.Close()
	server.cmd = unprivileged(exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-p", strconv.Itoa(server.port),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "max_connections=200", "-c", "shared_buffers=16MB"))
	log, err := os.Create(filepath.Join(server.dir, "log"))
	if err != nil {
		fail("a log", err, nil)
		return
	}
	server.cmd.Stdout, server.cmd.Stderr = log, log
	if err := server.cmd.Start(); err != nil {
		fail("postgres", err, nil)
		return
	}
	for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(50 * time.Millisecond) {
		db, err := sql.Open("pgx", serverURL("public"))
		if err == nil {
			err = db.Ping()
			db.Close()
		}
		if err == nil {
			return
		}
	}
	out, _ := os.ReadFile(log.Name())
	fail("postgres does not answer", nil, out)
}

func stopServer() {
	if server.cmd != nil && server.cmd.Process != nil {
		syscall.Kill(-server.cmd.Process.Pid, syscall.SIGQUIT)
		server.cmd.Wait()
	}
	if server.dir != "" {
		os.RemoveAll(server.dir)
	}
}

func serverURL(schema string) string {
	return fmt.Sprintf("postgres://ledger@127.0.0.1:%d/postgres?sslmode=disable&search_path=%s", server.port, schema)
}

// newPostgres makes an empty schema, or skips the test visibly.
func newPostgres(t testing.TB) string {
	t.Helper()
	server.once.Do(startServer)
	if server.missing != "" {
		if os.Getenv("CI") != "" {
			t.Fatal(server.missing)
		}
		t.Skip(server.missing)
	}
	name := fmt.Sprintf("ledger%d", server.n.Add(1))
	onServer(t, "CREATE SCHEMA "+name)
	return serverURL(name)
}

func onServer(t testing.TB, statements ...string) {
	t.Helper()
	db, err := sql.Open("pgx", serverURL("public"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
}

// onBoth runs a test on both databases.
func onBoth(t *testing.T, f func(t *testing.T, address string)) {
	t.Run("sqlite", func(t *testing.T) { f(t, "sqlite:"+filepath.Join(t.TempDir(), "ledger.db")) })
	t.Run("postgres", func(t *testing.T) { f(t, newPostgres(t)) })
}

func address(t testing.TB, text string) Address {
	t.Helper()
	a, err := ParseAddress(text, ".")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func open(t testing.TB, text string, set ...func(*Options)) *Ledger {
	t.Helper()
	o := Options{Create: true}
	for _, f := range set {
		f(&o)
	}
	l, err := Open(background, address(t, text), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

var people = Key{Dataset: "people", Unit: "row", Relation: privacy.ReplaceOne}

func limit(eps, delta string) Limit {
	e, _ := new(big.Rat).SetString(eps)
	d, _ := new(big.Rat).SetString(delta)
	return Limit{Epsilon: e, Delta: d}
}

// request asks for a pure ε.
func request(plan string, eps float64) Request {
	return Request{
		Account: people, Opening: Opening{Filter: Basic, Limit: limit("1", "1/1000")},
		Plan: plan, Event: privacy.Pure{Eps: eps}, Charged: privacy.Point{Epsilon: eps},
		Job: "job of " + plan, Digest: "digest", Charges: []Charge{{Name: "r", Epsilon: eps}},
	}
}

func debit(t testing.TB, l *Ledger, q Request) *Ticket {
	t.Helper()
	s, err := l.Debit(background, q)
	if err != nil {
		t.Fatal(err)
	}
	if s.Ticket == nil {
		t.Fatalf("no ticket: %+v", s)
	}
	return s.Ticket
}

var someFiles = []File{{Path: "a.csv", Mode: 0o644, Data: []byte("estimate\n1\n")}, {Path: "report.json", Mode: 0o600, Data: []byte("{}")}}

func codeOf(err error) string {
	var known *Error
	switch {
	case err == nil:
		return ""
	case asError(err, &known):
		return known.Code
	}
	return fmt.Sprintf("%T %v", err, err)
}

func asError(err error, to **Error) bool {
	e, ok := err.(*Error)
	*to = e
	return ok
}

// verified holds a ledger to its chain.
func verified(t testing.TB, l *Ledger, seen ...Seen) {
	t.Helper()
	v, err := l.Verify(background, seen)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range v.Findings() {
		t.Errorf("%s: %s: %s", f.Code, f.Where, f.What)
	}
}

func joined(f []Finding) string {
	var all []string
	for _, x := range f {
		all = append(all, x.Code+": "+x.Where+": "+x.What)
	}
	return strings.Join(all, "\n")
}
