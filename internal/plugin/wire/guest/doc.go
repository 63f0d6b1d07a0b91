// Package guest reads the rows that a host shares with a plugin: the plugin's end of the lane of columns. The host does not
// link it.
//
// It imports plugins/sdk and internal/plugin/wire. It checks what the host announces, so that a fault of a host reads no
// memory that is not shared.
package guest
