package address

import (
	"strings"
	"testing"
)

func TestHide(t *testing.T) {
	for text, want := range map[string]string{
		"s3://KEY:SECRET@bucket/a":                         "s3://[REDACTED]@bucket/a",
		"cannot read s3://KEY:SE:C/RET@bucket":             "cannot read s3://[REDACTED]@bucket", // some secrets hold a slash
		"s3://bucket/a@b":                                  "s3://bucket/a@b",
		"s3://bucket/a?region=x&secret_access_key=abc&c=d": "s3://bucket/a?region=x&secret_access_key=[REDACTED]&c=d",
		"azblob://c/a?sig=abc%2F":                          "azblob://c/a?sig=[REDACTED]",
		"s3://b/a?kmskeyid=alias":                          "s3://b/a?kmskeyid=alias",
		"https://token@host/x":                             "https://[REDACTED]@host/x",
		"rows/a.csv":                                       "rows/a.csv",
	} {
		if got := Hide(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestHiding(t *testing.T) {
	var b strings.Builder
	w := HidingOf(&b, []string{"--out=s3://AKIAEXAMPLE:wJalrXUt@bucket/x", "run", "s3://b/?token=abcdef"})
	if _, err := w.Write([]byte("open s3://AKIAEXAMPLE:wJalrXUt@bucket: wJalrXUt, AKIAEXAMPLE, abcdef")); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); strings.Contains(got, "AKIA") || strings.Contains(got, "wJal") || strings.Contains(got, "abcdef") || !strings.Contains(got, hidden) {
		t.Error(got)
	}
	if got := HidingOf(&b, []string{"job.yaml"}); got != &b {
		t.Error("a command line without a credential is written through a filter")
	}
}
