//go:build linux

package ledger

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/dprelease/dprelease/internal/testkit/testdir"
)

// A file that is moved, deleted, copied over or deprived of its log while a run has
// it open is noticed at the next write: no ticket, no seal.
func TestMovedWhileOpen(t *testing.T) {
	for what, move := range map[string]func(path string) error{
		"moved":   func(p string) error { return os.Rename(p, p+".old") },
		"deleted": os.Remove,
		"replaced": func(p string) error {
			b, err := os.ReadFile(p)
			if err == nil {
				if err = os.WriteFile(p+".new", b, 0o600); err == nil {
					err = os.Rename(p+".new", p)
				}
			}
			return err
		},
		"without its log": func(p string) error { return os.Remove(p + "-wal") },
	} {
		t.Run(what, func(t *testing.T) {
			path := filepath.Join(testdir.New(t), "ledger.db")
			l := open(t, "sqlite:"+path)
			k := debit(t, l, request("p", 0.125))
			if err := move(path); err != nil {
				t.Fatal(err)
			}
			if err := l.Seal(background, k, "c", someFiles); codeOf(err) != CodeMoved {
				t.Errorf("a seal: %v", err)
			}
			if _, err := l.Debit(background, request("q", 0.125)); codeOf(err) != CodeBroken {
				t.Errorf("the handle goes on: %v", err)
			}
			l = open(t, "sqlite:"+filepath.Join(testdir.New(t), "ledger.db"))
			if err := move(l.place.path); err != nil {
				t.Fatal(err)
			}
			if s, err := asking(l, request("q", 0.125)); codeOf(err) != CodeMoved && codeOf(err) != CodeUnreadable || s.Ticket != nil {
				t.Errorf("a debit: %+v, %v", s, err)
			}
		})
	}
}

// A ledger has one name. Links that are followed lead to it.
func TestOneName(t *testing.T) {
	dir := testdir.New(t)
	path := filepath.Join(dir, "ledger.db")
	l := open(t, "sqlite:"+path)
	debit(t, l, request("p", 0.5))
	other := filepath.Join(testdir.New(t), "link.db")
	if err := os.Symlink(path, other); err != nil {
		t.Fatal(err)
	}
	second := open(t, "sqlite:"+other)
	if _, err := second.Debit(background, request("q", 0.75)); codeOf(err) != CodeExhausted {
		t.Errorf("through a link: %v", err)
	}
	if _, err := os.Stat(other + "-wal"); err == nil {
		t.Error("a second log")
	}
	l.Close()
	second.Close()
	if err := os.Link(path, filepath.Join(dir, "other.db")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(background, address(t, "sqlite:"+path), Options{}); codeOf(err) != CodeUnsafe {
		t.Errorf("a second name: %v", err)
	}
}

// No change of a clock takes a run for dead, or keeps a dead one alive, on the
// machine that it runs on.
func TestLeaseIgnoresTheClock(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l, other := open(t, at), open(t, at)
		k := debit(t, l, request("p", 0.25))
		raw := rawDB(t, at)
		set := func(until time.Time, holder string) {
			t.Helper()
			bind := l.dialect.bind("UPDATE dprelease_releases SET lease_until = ?, holder = ?")
			if _, err := raw.Exec(bind, until.UnixMicro(), holder); err != nil {
				t.Fatal(err)
			}
		}
		year := 365 * 24 * time.Hour
		for _, c := range []struct {
			what   string
			until  time.Time
			holder string
			busy   bool
		}{
			{"the clock went ahead", time.Now().Add(-year), holding(time.Minute), true},
			{"the clock went back, and the lease ran out", time.Now().Add(year), holding(-time.Second), false},
			{"somebody elsewhere", time.Now().Add(year), "other/space/1/2@5", true},
			{"somebody elsewhere, out", time.Now().Add(-year), "other/space/1/2@999999999999999", false},
			{"a holder without a mark of its machine's time", time.Now().Add(year), thisProcess(), true},
			{"a process that ended", time.Now().Add(year), machine() + "/1/0@999999999999999", false},
			{"given up", time.UnixMicro(0), holding(time.Minute), false},
		} {
			set(c.until, c.holder)
			s, err := other.Look(background, "p", "")
			if err != nil || s.Busy != c.busy || s.Unfinished == c.busy {
				t.Errorf("%s: %+v, %v", c.what, s, err)
			}
		}
		if err := l.Renew(background, k); err != nil {
			t.Fatal(err)
		}
		if s, err := other.Look(background, "p", ""); err != nil || !s.Busy {
			t.Errorf("renewed: %+v, %v", s, err)
		}
	})
}

func TestMountedIn(t *testing.T) {
	mounts := "36 35 98:0 /l.db /srv/l.db rw - ext4 /dev/sda rw\n37 35 98:0 / /srv/a\\040b\\134c rw - ext4 /dev/sda rw\n"
	for path, want := range map[string]bool{"/srv/l.db": true, "/l.db": false, "/srv/a b\\c": true, "/srv": false, "/proc": false} {
		if mountedIn(mounts, path) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
	if !mounted("/proc") || mounted(filepath.Join(testdir.New(t), "x")) {
		t.Error("this machine's own mounts are not seen")
	}
}
