// Package budget is the ledger as one run of one job uses it. The steps come in one
// order (P21): open the ledger, look for an earlier run of the same job, debit the price
// of the plan, store the files, and note that they are published.
package budget
