package launch

// MarkKey names the environment variable that marks a plugin's processes.
const MarkKey = "DPRELEASE_PLUGIN_ID"

// Environment is all that a plugin finds in its environment: what the handshake
// needs, and a few fixed values. Nothing of the host's own leaks (secrets do live
// there), and nothing of it can change what a mechanism computes.
func Environment(base string, handshake []string) []string {
	env := []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TZ=UTC", "HOME=" + base, "TMPDIR=" + base}
	for _, kv := range handshake {
		if begins(kv, "PLUGIN_") || begins(kv, cookieKey) {
			env = append(env, kv)
		}
	}
	return env
}

const (
	cookieKey = "DPRELEASE_PLUGIN="
	socketDir = "PLUGIN_UNIX_SOCKET_DIR="
)

// handshake is what go-plugin would put into the environment of a plugin whose
// sockets are in a folder. Package host compares: where the two differ, the early
// process is not used.
func handshake(sockets string) []string {
	return []string{cookieKey + "mechanism-v1", "PLUGIN_MIN_PORT=10000", "PLUGIN_MAX_PORT=25000", "PLUGIN_PROTOCOL_VERSIONS=1", socketDir + sockets}
}

// fits says that a plugin that was started with one environment can stand for one
// that is asked for with another: they differ in nothing but their folders.
func fits(have, want []string) bool {
	if len(have) != len(want) {
		return false
	}
	for i, kv := range want {
		folder := false
		for _, key := range []string{"HOME=", "TMPDIR=", socketDir} {
			folder = folder || begins(kv, key) && begins(have[i], key)
		}
		if !folder && have[i] != kv {
			return false
		}
	}
	return true
}

// begins is strings.HasPrefix, of a package that would be initialised too late.
func begins(s, prefix string) bool { return len(s) >= len(prefix) && s[:len(prefix)] == prefix }
