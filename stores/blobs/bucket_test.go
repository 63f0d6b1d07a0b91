package blobs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/dprelease/dprelease/internal/data/store/call"
)

// An endpoint without TLS that the address does not name is refused, whatever names it, unless it is on this machine.
func TestEndpointsWithoutTLS(t *testing.T) {
	const remote, here = "http://198.51.100.7:9000", "http://127.0.0.1:9000"
	for _, c := range []struct {
		file, env string
		refused   bool
	}{
		{"endpoint_url = " + remote, "", true},
		{"services = mine\n[services mine]\ns3 =\n  endpoint_url = " + remote, "", true},
		{"endpoint_url = " + here, "", false},
		{"endpoint_url = https://198.51.100.7:9000", "", false},
		{"", remote, true},
		{"endpoint_url = " + remote, here, false}, // the environment counts
		{"", "", false},
	} {
		path := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(path, []byte("[default]\nregion = eu-central-1\n"+c.file+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("AWS_CONFIG_FILE", path)
		t.Setenv("AWS_ENDPOINT_URL", c.env)
		t.Setenv("AWS_ENDPOINT_URL_S3", "")
		b, err := Open(t.Context(), "s3://bucket")
		if b != nil {
			b.Close()
		}
		if errors.Is(err, call.ErrUntrusted) != c.refused || !c.refused && err != nil {
			t.Errorf("file %q, environment %q: %v", c.file, c.env, err)
		}
	}
	t.Setenv("AWS_ENDPOINT_URL", remote)
	if b, err := Open(t.Context(), "s3://bucket?region=eu-central-1&endpoint="+here); err != nil {
		t.Error(err)
	} else {
		b.Close()
	}
}
