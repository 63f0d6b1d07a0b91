// Package plan prices a job without its data. It takes the job, the public facts, the
// answers of the mechanisms and what the ledger remembers of kept draws. The package opens
// no table and sees no row.
//
// A plan has three stages. Each is a type of its own, with types for its draws and its
// releases. Each is made once from the one before, and nothing changes it afterwards.
//
//   - Draft: the designs of the draws, the mechanisms of the releases, and what earlier jobs
//     spent. It has no amounts, so it holds for every division of a budget.
//   - Planned: the targets of a draw are added up exactly, the amplification of the draw is
//     inverted once (P3, P4), each release gets its share, and its mechanism plans with that.
//     A run carries a Planned out. What the run finds (bounds, selected keys) makes another
//     Planned from it, with the same events (Planned.With).
//   - Priced: the accountant says what the planned events cost. The ledger is debited with
//     that price, and the report tells it.
//
// Fit is the one search for the largest budget that still fits: of a group, a release in ρ, a
// draw, and budget.spend; the shares of budget.spend are balanced with it too. A search
// proposes, and decides nothing: Planned.price compares every charge with its target.
package plan
