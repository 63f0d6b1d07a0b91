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
		"cannot open 's3:/KEY:SECRET@bucket/a'":            "cannot open 's3:/[REDACTED]@bucket/a'",
		"/jobs/s3:/KEY:SE/CRET@bucket/a":                   "/jobs/s3:/[REDACTED]@bucket/a",
		" s3://KEY:SECRET@bucket":                          " s3://[REDACTED]@bucket",
		"S3:KEY:SECRET@bucket":                             "S3:[REDACTED]@bucket",
		"postgres:/me:SECRET@h/db":                         "postgres:/[REDACTED]@h/db",
		"host=h password=SECRET dbname=d":                  "host=h password=[REDACTED] dbname=d",
		`host=h Password = 'SE CR\'ET' dbname=d`:           "host=h Password = [REDACTED] dbname=d",
		"host=h sslpassword=SECRET":                        "host=h sslpassword=[REDACTED]",
		"sqlite:/home/me@corp/l.db":                        "sqlite:/home/me@corp/l.db",
		"C:/people/me@corp/x.csv":                          "C:/people/me@corp/x.csv",
		"x == 1 and pass = 2":                              "x == 1 and pass = 2",
	} {
		if got := Hide(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestHiding(t *testing.T) {
	var b strings.Builder
	w := HidingOf(&b, []string{"--out=s3://AKIAEXAMPLE:wJalrXUt@bucket/x", "run", "s3://b/?token=abcdef", "host=h password='gh ij'", "s3:/AKIAMISSING:klmnop@b"})
	if _, err := w.Write([]byte("open s3://AKIAEXAMPLE:wJalrXUt@bucket: wJalrXUt, AKIAEXAMPLE, abcdef, gh ij, klmnop, AKIAMISSING")); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); strings.Contains(got, "AKIA") || strings.Contains(got, "wJal") || strings.Contains(got, "abcdef") || strings.Contains(got, "gh ij") || strings.Contains(got, "klmnop") || !strings.Contains(got, hidden) {
		t.Error(got)
	}
	if got := HidingOf(&b, []string{"job.yaml"}); got != &b {
		t.Error("a command line without a credential is written through a filter")
	}
}
