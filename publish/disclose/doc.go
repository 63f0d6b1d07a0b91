// Package disclose writes what others want to know of a publication, from its report alone:
// an entry for the public registry of differential-privacy deployments, the hazards of NIST
// SP 800-226 with a verdict and evidence for each, and an in-toto statement over the outputs.
//
// It reads report.json and the files of the releases, no table and no ledger. It holds
// public facts only (P19): what the account of the ledger has spent is left out. What only a
// person knows comes from the words of the job's publication, and is never made up.
//
// The registry's rules stand in Fields and Problems, in the project's own words. They can
// fall behind the registry's: a test compares them with its schema where that lies at hand.
//
// The package may import report, privacy and yaml.v3.
package disclose
