package table

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/dprelease/dprelease/internal/data/table/pagewalk"
)

// TestErrorsNameNoValues: texts of foreign errors never get into an Error, and what comes from the file is printable
// and short.
func TestErrorsNameNoValues(t *testing.T) {
	foreign := errors.New("row 17 holds 42.5")
	for _, err := range []error{
		refuse("f", foreign), about(foreign, "f", "column x"), refuse("f", &os.PathError{Op: "read", Path: "42.5", Err: io.ErrUnexpectedEOF}),
		refuse("f", guarded(func() error { panic("42.5") })),
	} {
		var e *Error
		if !errors.As(err, &e) || strings.Contains(err.Error(), "42.5") || !strings.HasPrefix(err.Error(), "f: ") {
			t.Errorf("%v", err)
		}
	}
	if err := refuse("f", &os.PathError{Op: "open", Path: "f", Err: syscall.EMFILE}); !strings.Contains(err.Error(), "ulimit -n") {
		t.Errorf("%v", err)
	}
	if err := fail(CodeCorrupt, "", "a\x1b[31m\nb"); err.Error() != "a?[31m?b" {
		t.Errorf("%q", err)
	}
	if err := fail(CodeCorrupt, "", strings.Repeat("x", 10_000)); len(err.Error()) > 500 {
		t.Error("an endless name was printed")
	}
	var e *Error
	if err := refuse("f", &pagewalk.Fault{Code: pagewalk.TooBig, Detail: "d"}); !errors.As(err, &e) || e.Code != CodeLimit {
		t.Error(err)
	}
	if err := refuse("f", context.Canceled); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestVerifyFindsWhatScanFinds(t *testing.T) {
	bad := must(Open(t.Context(), Spec{Path: "testdata/hostile/26_bad_crc.parquet"}))
	defer bad.Close()
	var e *Error
	if err := bad.Verify(t.Context(), bad.Usable()); !errors.As(err, &e) || e.Code != CodeCorrupt {
		t.Error(err)
	}
	short := must(Open(t.Context(), Spec{Path: "testdata/hostile/24_dict_oob.parquet"}))
	defer short.Close()
	if err := short.Verify(t.Context(), short.Usable()); err != nil {
		t.Error("an index is a value, which Verify does not look at:", err)
	}
	if err := short.Scan(t.Context(), ScanOptions{Columns: []string{"x"}}, func(Batch) error { return nil }); !errors.As(err, &e) || e.Code != CodeCorrupt {
		t.Error(err)
	}
	cols, _ := generated(70_000, 0, rand.New(rand.NewPCG(1, 1)))
	path := temp(t, "x.parquet", writeParquet(t, style{groups: []int{69_000, 1000}}, cols[:1]))
	tab := must(Open(t.Context(), Spec{Path: path}))
	defer tab.Close()
	if err := tab.Scan(t.Context(), ScanOptions{Columns: tab.Usable()}, func(Batch) error { return nil }); err != nil {
		t.Error(err)
	}
	if b := tab.Blocks(); len(b) != 3 || b[1].First != blockRows || b[1].Rows != 69_000-blockRows || b[2].Group != 1 || b[2].First != 69_000 {
		t.Errorf("%+v", b)
	}
	if f := tab.Files(); len(f) != 1 || f[0] != path {
		t.Error(f)
	}
	if c := tab.Columns(); c[0].Kind.String() != "float" || Kind(-1).String() != "invalid" {
		t.Error(c)
	}
	if err := tab.Verify(t.Context(), []string{"absent"}); !errors.As(err, &e) || e.Code != CodeColumn {
		t.Error(err)
	}
}
