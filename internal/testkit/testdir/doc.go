// Package testdir gives tests folders in memory, where waiting for a disk would take most of
// their time. What a killed process wrote is as safe there as on a disk; only a loss of power
// would tell the two apart, and no test makes one.
//
// It imports the standard library, and is imported by tests only.
package testdir
