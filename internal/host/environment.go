package host

import (
	"os"
	"strings"

	"github.com/dprelease/dprelease/internal/wire"
)

// markKey names the environment variable that marks a plugin's processes.
const markKey = "DPRELEASE_PLUGIN_ID"

// environment is all that a plugin finds in its environment, besides the mark: what the
// handshake needs, and a few fixed values. Nothing of the host's own leaks (secrets do
// live there), and nothing of it can change what a mechanism computes.
func environment(base string, handshake []string) []string {
	env := []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TZ=UTC", "HOME=" + base, "TMPDIR=" + base}
	for _, kv := range handshake {
		if strings.HasPrefix(kv, "PLUGIN_") || strings.HasPrefix(kv, wire.CookieKey+"=") {
			env = append(env, kv)
		}
	}
	return env
}

// dirBase is where private directories are. Their paths must be short enough for the
// name of a unix socket (108 bytes) inside a further directory.
func dirBase() string {
	if base := os.TempDir(); len(base) <= 40 {
		return base
	}
	return "/tmp"
}
