// Package arrow writes Arrow IPC: releases and spooled rows as files, and rows for plugins as streams.
//
// # What it may import
//
// The flatbuffers runtime.
//
// # What it promises
//
// The same columns give the same bytes, which every Arrow library reads. Nothing is written but the values that the caller gave, and
// zeros for missing values and padding. A writer keeps no reference to a column. No function panics on a failure to write.
//
// # What it does not protect against
//
// A writer believes that the buffers of a column fit its rows. 64-bit little-endian machines only.
package arrow
