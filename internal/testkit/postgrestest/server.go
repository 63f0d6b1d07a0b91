package postgrestest

import (
	"database/sql"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/dprelease/dprelease/internal/testkit/testdir"
	"github.com/dprelease/dprelease/ledger/postgres"
)

// nobody is the user as whom the server runs where the tests run as root.
const nobody = 65534

// Server is a running PostgreSQL.
type Server struct {
	port int
	dir  string
	bin  string
	cmd  *exec.Cmd
}

// binaries returns the folder of the programs of the server, "" where they are not.
func binaries() string {
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); len(found) > 0 {
		return filepath.Dir(found[len(found)-1])
	}
	if p, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(p)
	}
	return ""
}

// Start starts a server that nobody else uses. The error says what is missing.
func Start() (*Server, error) {
	s := &Server{bin: binaries()}
	if s.bin == "" {
		return nil, fmt.Errorf("its server programs (initdb, postgres) are not on this machine")
	}
	if err := s.prepare(); err != nil {
		s.Remove()
		return nil, err
	}
	if err := s.Run(); err != nil {
		s.Remove()
		return nil, err
	}
	return s, nil
}

// prepare makes the data directory and picks a port.
func (s *Server) prepare() error {
	var err error
	if s.dir, err = os.MkdirTemp(testdir.Base(), "postgrestest-"); err != nil {
		return err
	}
	if os.Getuid() == 0 {
		if err := os.Chown(s.dir, nobody, nobody); err != nil {
			return err
		}
	}
	init := s.unprivileged("initdb", "-D", s.Data(), "-U", "ledger", "-A", "trust", "-E", "UTF8", "--no-sync")
	if out, err := init.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %v: %s", err, out)
	}
	s.port, err = freePort()
	return err
}

// freePort finds a port below those that the system gives to outgoing connections, so that no
// client takes it before the server starts, or while the server is stopped. Processes look in
// different places.
func freePort() (int, error) {
	for i := range 1000 {
		port := 12000 + (os.Getpid()*7+i*11)%20000
		if l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("no free port was found")
}

// Data returns the data directory of the server.
func (s *Server) Data() string { return filepath.Join(s.dir, "data") }

// unprivileged is a command as somebody whom PostgreSQL accepts.
func (s *Server) unprivileged(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, program), args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	cmd.Env = []string{"LC_ALL=C", "PATH=" + os.Getenv("PATH"), "HOME=" + s.dir}
	cmd.Dir = s.dir
	return cmd
}

// Run starts the server, again where it was stopped, and waits until it answers.
func (s *Server) Run() error {
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	s.cmd = s.unprivileged("postgres", "-D", s.Data(), "-p", strconv.Itoa(s.port), "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories=", "-c", "max_connections=200", "-c", "shared_buffers=16MB", "-c", "recovery_init_sync_method=syncfs")
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		return err
	}
	for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(50 * time.Millisecond) {
		if db, err := sql.Open(postgres.Name, s.URL("public")); err == nil {
			err = db.Ping()
			db.Close()
			if err == nil {
				return nil
			}
		}
	}
	out, _ := os.ReadFile(log.Name())
	return fmt.Errorf("postgres does not answer: %s", out)
}

// Kill ends the server at once and without tidying up, as a crash does.
func (s *Server) Kill() {
	if s.cmd != nil && s.cmd.Process != nil {
		syscall.Kill(-s.cmd.Process.Pid, syscall.SIGQUIT)
		s.cmd.Wait()
		s.cmd = nil
	}
}

// Remove ends the server and removes what it held.
func (s *Server) Remove() {
	s.Kill()
	if s.dir != "" {
		os.RemoveAll(s.dir)
	}
}

// Address is the host and the port of the server.
func (s *Server) Address() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

// URL returns the address that a client is given to work in a schema.
func (s *Server) URL(schema string) string {
	return fmt.Sprintf("postgres://ledger@%s/postgres?sslmode=disable&search_path=%s", s.Address(), schema)
}

// Log returns what the server has written into its log since it was started.
func (s *Server) Log() ([]byte, error) { return os.ReadFile(filepath.Join(s.dir, "log")) }

// Exec carries out statements.
func (s *Server) Exec(statements ...string) error {
	db, err := sql.Open(postgres.Name, s.URL("public"))
	if err != nil {
		return err
	}
	defer db.Close()
	for _, q := range statements {
		if _, err := db.Exec(q); err != nil {
			return err
		}
	}
	return nil
}
