// Package host runs mechanism plugins: it starts the pinned executable, shakes hands, asks
// for descriptions and plans, feeds rows, draws the noise that a plan names and no other,
// checks what comes back, and leaves no process behind.
//
// It imports go-plugin and gRPC, internal/plugin/sandbox, internal/plugin/wire, internal/noise, the
// SDK's types and privacy.
//
// What it promises, whatever the plugin does: every call ends by its deadline; after the
// first row a failure is one of a fixed set of codes, and no text of the plugin's goes
// anywhere but the quarantine (P20); noise is drawn by the host, and a release whose noise
// calls were not exactly those of its plan is refused; and what internal/plugin/sandbox promises
// of the process: what runs is the bytes whose digest was checked, it inherits nothing,
// only its own processes are talked to, and none is left when Close returns. Plugins run
// on Linux only.
//
// What it does not protect against: a plugin sees the rows. It can lie about its
// sensitivity, encode rows in its result within the planned shape, or take its time in a way
// that depends on them. Where [Command].Confine does not confine it, or this machine cannot,
// it can also write rows to a file or a network. Only run plugins that you trust with the
// result.
package host
