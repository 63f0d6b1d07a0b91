// Package pages writes what docs/exit-codes.md and docs/what-leaves.md say of each code: what it means, and the most that it tells
// about the table. The program does without it.
package pages
