package ledger

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/postgrestest"
)

// BenchmarkTenThousand is a debit, a look and an audit of an account with 10,000
// releases. Reference: 50 ms for a debit and for a look.
func BenchmarkTenThousand(b *testing.B) {
	for _, name := range []string{"sqlite", "postgres"} {
		b.Run(name, func(b *testing.B) {
			at := "sqlite:" + filepath.Join(b.TempDir(), "ledger.db")
			if name == "postgres" {
				at = postgrestest.New(b)
			}
			l := open(b, at)
			fill(b, l, 10_000)
			n := 0
			b.Run("debit", func(b *testing.B) {
				for b.Loop() {
					n++
					debit(b, l, request(fmt.Sprint("more", n), 1e-9))
				}
			})
			b.Run("open-and-look", func(b *testing.B) {
				for b.Loop() {
					l := open(b, at)
					if _, err := l.Look(background, "p77", "c"); err != nil {
						b.Fatal(err)
					}
					if _, err := l.Account(background, people); err != nil {
						b.Fatal(err)
					}
					l.Close()
				}
			})
			b.Run("show", func(b *testing.B) {
				for b.Loop() {
					if s, err := l.Spends(background, 0); err != nil || len(s) < 10_000 {
						b.Fatal(len(s), err)
					}
				}
			})
			b.Run("verify", func(b *testing.B) {
				for b.Loop() {
					verified(b, l)
				}
			})
		})
	}
}

// fill makes many releases in one transaction: what is measured comes after them.
func fill(b *testing.B, l *Ledger, n int) {
	b.Helper()
	archive, err := pack(someFiles)
	if err != nil {
		b.Fatal(err)
	}
	err = l.write(background, func(t *tx) error {
		for i := range n {
			q := request(fmt.Sprint("p", i), 1e-6/3)
			k, err := t.debit(&q, nil)
			if err != nil {
				return err
			}
			if _, err := t.append(&sealBody{Release: k.Release, Content: "c", Archive: digestOf(archive)}); err != nil {
				return err
			}
			if err := t.exec("INSERT INTO dprelease_archives (release, archive) VALUES (?, ?)", k.Release, archive); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkChargeSlices charges a million slices in one transaction, the first time and
// then once more, when all of them have spent before. Reference: under 5 s on PostgreSQL.
func BenchmarkChargeSlices(b *testing.B) {
	const n = 1_000_000
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("2026-%07d", i)
	}
	for _, c := range []struct{ name, at string }{{"sqlite", "sqlite:" + b.TempDir() + "/l.db"}, {"postgres", postgrestest.New(b)}} {
		l := open(b, c.at)
		if _, err := l.OpenAccount(background, month(""), Opening{Filter: Basic, Limit: limit("1000", "1")}); err != nil {
			b.Fatal(err)
		}
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := l.Charge(background, month(""), Elsewhere{Costs: costs("1/10", names...), Reason: "r"}); err != nil {
					b.Fatal(err)
				}
			}
		})
		l.Close()
	}
}
