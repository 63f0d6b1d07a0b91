// Package verdict says what a guarantee is worth against an attacker: two chances, found from
// the whole privacy profile of what was done, and the sentences that state them. The plan, the
// run, the report, the accountant and the ledger all take them from here, so one guarantee has
// one verdict. It reads events and points alone, and imports the calculus only.
package verdict
