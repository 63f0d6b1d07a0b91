// Package insecurenoise makes sources whose draws are known. It is for tests only: a
// release with such a source protects nobody. A test of internal/noise fails when other
// code than tests imports this package. It imports internal/noise.
package insecurenoise
