// Package compared says what differs between two runs: in their jobs, in the public facts about their data, and in what they
// released, beside what noise and sampling explain. It reads reports and released values, so a comparison costs nothing.
package compared
