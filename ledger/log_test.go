package ledger

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/postgrestest"
)

// A server that logs statements with their values sees the encrypted rows of a kept
// sample, and never the ledger's secret, which opens them (P19).
func TestServerLogHoldsNoSecret(t *testing.T) {
	at := postgrestest.New(t) + "&options=-c%20log_statement%3Dall"
	l := open(t, at)
	id := sampleID(1)
	sealKept(t, l, debit(t, l, keeping("p", id, 1, 0)), id)
	again := open(t, at, func(o *Options) { o.Create = false })
	if rows, err := again.Rows(background, id); err != nil || !bytes.Equal(rows, secret) {
		t.Fatalf("rows %q, %v", rows, err)
	}
	log, err := postgrestest.Shared(t).Log()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(log, []byte(id)) || !bytes.Contains(log, []byte("sealed = ")) {
		t.Fatal("the server has logged no values")
	}
	key := l.ContentKey()
	for what, b := range map[string][]byte{"the secret": []byte(hex.EncodeToString(key[:])), "a row": secret} {
		if bytes.Contains(log, b) || bytes.Contains(log, []byte(hex.EncodeToString(b))) {
			t.Errorf("the server's log holds %s", what)
		}
	}
	other := open(t, postgrestest.New(t))
	if other.ContentKey() == key || key == [32]byte{} {
		t.Error("two ledgers have one secret")
	}
}
