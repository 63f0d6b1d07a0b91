// Package noise draws the random numbers that are released: discrete Laplace and
// discrete Gaussian noise on the integers, continuous Laplace noise rounded once
// (smooth sensitivity), the exponential mechanism over a lattice, randomized
// response, and the coins and skips that samplers use. Nothing else in
// the project may draw a released bit (P16).
//
// # Promises
//
// Every draw has exactly the law that its Contract states: the only inputs are
// fair bits and exact rational parameters (a float64 scale is taken as the
// dyadic rational that it is). Floating point appears where an interval that
// certainly holds the exact number decides a comparison; where it does not, exact
// integers do. Each argument stands in a .proof.md file beside the code.
//
// Bits come from AES-256 in counter mode, keyed by 256 bits of the operating
// system's CSPRNG and re-keyed by its own output every 8 KiB. Integers are
// unbiased by rejection. Failure to read the CSPRNG is an error of NewSource.
// There is no seed to set, and no source that is used when none is given.
//
// # What it does not protect against
//
// Timing. Draws are rejection samplers: how long one takes depends on the draw
// (the whole part of |x|/scale adds loop turns; a Gaussian's rejected proposals
// too), Select's cost grows with the number of pieces and with where the chosen
// piece lies, SmoothLaplace's with the bits the rounding needs. Anybody who can time a
// single draw from outside learns something about it: publish no run times (P19)
// and do not answer interactive queries draw by draw. Memory: a Source holds the
// current key and up to 8 KiB of stream to come, which reveal later draws (not
// earlier ones) to anybody who can read the process.
//
// It may import the standard library and internal/known, which imports nothing. It may
// import neither math/rand nor math/rand/v2; a test checks both. Only tests may draw from a
// source whose choices are known, through package insecurenoise; a test checks that too.
package noise
