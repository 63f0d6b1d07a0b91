// Package host runs mechanism plugins: it launches the pinned executable, shakes
// hands, asks for descriptions and plans, feeds rows, draws the noise that a plan
// names and no other, checks what comes back, and leaves no process behind.
//
// It imports go-plugin and gRPC, internal/wire, internal/noise, the SDK's types
// and privacy.
//
// What it promises, whatever the plugin does: every call ends by its deadline;
// after the first row a failure is one of a fixed set of codes and no text of the
// plugin's goes anywhere but the quarantine (P20); noise is drawn by the host, and
// a release whose noise calls were not exactly those of its plan is refused; what
// runs is the bytes whose digest was checked; nothing of the host's environment,
// standard input or descriptors is inherited; sockets are in a directory that only
// this user can enter, and only processes of the plugin are talked to; and when
// Close returns, no process of the plugin is left.
//
// To tell a plugin's orphans, the first start makes this process the reaper of its
// orphaned descendants (PR_SET_CHILD_SUBREAPER) for the rest of its life, and marks
// its open descriptors close-on-exec. Plugins run on Linux only.
//
// What it does not protect against: a plugin runs as the same user and sees the
// rows. It can lie about its sensitivity, encode rows in its result within the
// planned shape, write them to a file or a network, or take its time in a way that
// depends on them. Only run plugins that you trust with the table. A descendant
// that leaves its session, clears its environment and loses its parent can only be
// told where Limits.SoleParent is set; one that outlives a host which was killed
// with SIGKILL cannot be told at all, and must watch its standard input.
package host
