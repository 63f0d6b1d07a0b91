// The program dprelease-publish writes the tables of a run as offices publish them, and what others ask of a publication: an entry for the
// public registry of deployments, the hazards of NIST SP 800-226, a statement that a person signs, and a comparison of two runs.
// dprelease publish starts it.
//
// It reads report.json and the files of the releases, and neither a table nor a ledger: a test holds that it links no
// reader of either. It writes public facts only (P19), and spends nothing.
package main
