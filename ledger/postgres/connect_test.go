package postgres

import (
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// Off this machine nothing is sent without encryption, unless the address says so itself.
func TestConnectionsAreEncrypted(t *testing.T) {
	for address, want := range map[string]Way{
		"postgres://u@127.0.0.1/d": Here, "postgres://u@localhost/d?sslmode=disable": Here, "postgres://u@[::1]/d": Here,
		"postgres:///d?host=/tmp": Here, "host=/tmp dbname=d": Here,
		"postgres://u@db.example.org/d": Encrypted, "postgres://u@db.example.org/d?sslmode=prefer": Encrypted,
		"postgres://u@db.example.org/d?sslmode=allow": Encrypted, "postgres://u@db.example.org/d?sslmode=require": Encrypted,
		"postgres://u@db.example.org/d?sslmode=verify-full": Checked, "postgres://u@db.example.org/d?sslmode=verify-ca": Checked,
		"postgres://u@db.example.org/d?sslmode=disable": Plain, "host=db.example.org dbname=d sslmode=disable": Plain,
		"host=db.example.org dbname=d sslmode = 'disable'": Plain, "postgres://u@127.0.0.1,db.example.org/d": Encrypted,
	} {
		c, way, err := Config(address)
		if err != nil || way != want {
			t.Errorf("%s: %q %v, want %q", address, way, err, want)
			continue
		}
		for _, f := range append(c.Fallbacks, &pgconn.FallbackConfig{Host: c.Host, TLSConfig: c.TLSConfig}) {
			if f.TLSConfig == nil && !local(f.Host) && want != Plain {
				t.Errorf("%s falls back to a connection to %s that is not encrypted", address, f.Host)
			}
		}
	}
	t.Setenv("PGSSLMODE", "disable")
	if _, _, err := Config("postgres://u@db.example.org/d"); CauseOf(err) != Untrusted {
		t.Errorf("the environment takes encryption away: %v", err)
	}
	if _, way, err := Config("postgres://u@127.0.0.1/d"); err != nil || way != Here {
		t.Errorf("on this machine: %v %v", way, err)
	}
}

// A server that is gone may come back; one that offers no TLS will not by itself.
func TestCauses(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	answer := make(chan string, 1)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			b := make([]byte, 8)
			_, _ = c.Read(b)
			_, _ = c.Write([]byte(<-answer))
			c.Close()
		}
	}()
	try := func(query string) Cause {
		c, _, err := Config("postgres://u@" + l.Addr().String() + "/d?connect_timeout=5&" + query)
		if err != nil {
			t.Fatal(err)
		}
		_, err = pgconn.ConnectConfig(t.Context(), c)
		return CauseOf(err)
	}
	answer <- "N"
	if got := try("sslmode=require"); got != Untrusted {
		t.Errorf("a server without TLS: %v", got)
	}
	answer <- "S" + strings.Repeat("no TLS ", 20)
	if got := try("sslmode=require"); got != Untrusted {
		t.Errorf("a server that says something else than TLS: %v", got)
	}
	answer <- ""
	if got := try("sslmode=disable"); got != Unreachable {
		t.Errorf("a server that hangs up: %v", got)
	}
	l.Close()
	if got := try("sslmode=require"); got != Unreachable {
		t.Errorf("no server: %v", got)
	}
	for state, want := range map[string]Cause{"57P01": Unreachable, "57P03": Unreachable, "53300": Unreachable, "08006": Unreachable,
		"28P01": Denied, "42501": Denied, "3D000": Absent, "22012": Other, "57014": Other} {
		if got := CauseOf(&pgconn.PgError{Code: state}); got != want {
			t.Errorf("%s: %v, want %v", state, got, want)
		}
	}
}
