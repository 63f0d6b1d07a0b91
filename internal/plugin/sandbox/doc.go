// Package sandbox runs an executable that is not trusted with anything but its task: it
// pins what is run, starts it with nothing inherited, confines it, knows every process that
// descends from it, talks to none but those, and leaves none behind.
//
// It imports launcher, internal/data/file, the standard library and golang.org/x/sys,
// and knows nothing of plugins, rows or noise.
//
// What it promises: what runs is the bytes whose digest was checked ([Open]), and so are the
// files beside it ([Dir.Keep]); nothing of
// this process's environment, standard input or descriptors is inherited ([Start]);
// sockets are in a directory that only this user can enter ([NewDir]), and only processes
// of the tree are talked to ([Process.Dial], [Process.Guard]); and when [Process.Kill]
// returns true, no process of the tree is left.
//
// A tree that is confined in full ([Level.Full]) finds no files but what its executable needs
// of the system, its folder and what it was granted, and can change and lock none but its
// own; no network, no processes but its own, and no way to
// more; all of it ends with its first process, also when this process is killed. Its files
// are in memory and have a limit, as its processes have. What a
// kernel does not give is said in [Level.Missing]. [Required] then starts nothing, and
// [Best] nothing of a stranger's whose files and network are not closed ([Level.Closed]).
//
// A program that imports this package is its own launcher (package launcher), and so must a plugin be that is of the same build.
// docs/decisions/sandbox.md says why.
//
// To tell a tree's orphans, the first start makes this process the reaper of its orphaned
// descendants (PR_SET_CHILD_SUBREAPER) for the rest of its life, and marks its open
// descriptors close-on-exec. All of it rests on Linux: sealed memory files, parent-death
// signals, subreapers and /proc. Elsewhere nothing starts.
//
// What it does not protect against: a flaw of the kernel; another program of this machine that
// measures what libraries of the system a tree has read, or how busy the machine is; the threads of a tree that
// root runs, which the kernel does not count; a tree that takes its time, or
// forks until the memory of all its processes together runs out (the kernel then ends it
// first). Without namespaces a tree can see the names of files and processes and, where
// Landlock is older than version 9, connect to unix sockets of the same user. A tree that is
// not confined runs as this user with all that this user may do; there a descendant that
// leaves its session, clears its environment and loses its parent can only be told where
// Command.SoleParent is set, and one that outlives a process which was killed with SIGKILL
// cannot be told at all, and must watch its standard input.
package sandbox
