// Package run carries out a plan whose price is paid. It opens the table, draws the
// samples, prepares the columns that the mechanisms asked for, feeds them to the
// mechanisms in their own processes, and collects the results. Each result is held to
// its plan. After the debit a failure is one of a fixed set of codes (P20).
package run
