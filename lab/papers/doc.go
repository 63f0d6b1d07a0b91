// Command papers draws the figures of the papers on amplification that dprelease
// rests on, from its own accountant and mechanisms, and writes them as one page
// with the papers' stated numbers beside ours (lab/studies/papers.md). `make papers` runs
// it.
//
// The numbers called stated are those of the papers and of docs/privacy-rules.md, with
// its traps; where a paper's own figure or caption is not among them the page says
// so. Simulations use math/rand from fixed seeds: nothing here is a release, and no
// private table is read.
//
// It imports the planner, the accountant's packages, the mechanisms and the SDK.
package main
