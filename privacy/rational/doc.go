// Package rational holds exact amounts of privacy: it reads, rounds, prints, adds and compares
// them. An Amount is an (ε, δ) or a ρ; its AtMost is how two of them are compared.
//
// It imports the standard library alone. A number that a person wrote is never rounded. A limit
// becomes a float64 from below (Down), and what is spent from above (Up), so that no
// comparison of floats allows more than the exact one (P17).
package rational
