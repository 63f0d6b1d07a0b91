// Package sandbox runs an executable that is not trusted with anything but its task: it
// pins what is run, starts it with nothing inherited, knows every process that descends
// from it, talks to none but those, and leaves none behind.
//
// It imports the standard library and golang.org/x/sys, and knows nothing of plugins,
// rows or noise.
//
// What it promises: what runs is the bytes whose digest was checked ([Open]); nothing of
// this process's environment, standard input or descriptors is inherited ([Start]);
// sockets are in a directory that only this user can enter ([NewDir]), and only processes
// of the tree are talked to ([Process.Dial], [Process.Guard]); and when [Process.Kill]
// returns true, no process of the tree is left.
//
// To tell a tree's orphans, the first start makes this process the reaper of its orphaned
// descendants (PR_SET_CHILD_SUBREAPER) for the rest of its life, and marks its open
// descriptors close-on-exec. All of it rests on Linux: sealed memory files, parent-death
// signals, subreapers and /proc. Elsewhere nothing starts.
//
// What it does not protect against: a tree runs as the same user, may read this user's
// files and use the network. A descendant that leaves its session, clears its environment
// and loses its parent can only be told where Command.SoleParent is set. One that outlives
// a process which was killed with SIGKILL cannot be told at all, and must watch its
// standard input.
package sandbox
