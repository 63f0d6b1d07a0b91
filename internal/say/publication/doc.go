// Package publication reads the words of a publication: title, language, labels and notes, which change no release. They stand
// under the key publication of a job, or of a file of their own.
//
// It imports report and the kernel of the job language, and links neither tables nor the ledger.
package publication
