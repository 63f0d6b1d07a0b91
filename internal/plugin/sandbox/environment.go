package sandbox

// markKey names the environment variable that marks the processes of a tree.
const markKey = "DPRELEASE_PLUGIN_ID"

// searchPath lists the folders in which a tree finds programs.
const searchPath = "/usr/local/bin:/usr/bin:/bin"

// environment is all that a tree finds in its environment: a few fixed values, what the
// command adds, and the mark. Nothing of this process's own environment leaks (secrets do
// live there), and nothing of it can change what the tree computes.
// Elsewhere differs in all that a correct tree does not look at.
func environment(home string, elsewhere bool, more []string, mark string) []string {
	env := []string{"PATH=" + searchPath, "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TZ=UTC", "HOME=" + home, "TMPDIR=" + home}
	if elsewhere {
		env = []string{"TMPDIR=" + home, "HOME=/", "TZ=Asia/Kathmandu", "LC_ALL=C", "LANG=C", "PATH=/bin:/usr/bin"}
	}
	// Python would write what it compiled, and to write a file looks like writing rows.
	env = append(env, "PYTHONDONTWRITEBYTECODE=1")
	return append(append(env, more...), markKey+"="+mark)
}
