package job

import (
	"github.com/dprelease/dprelease/privacy/rational"
)

// Guarantee is the amount that the job asks for or allows: one exact (ε, δ) point, or one exact ρ (P28). In a
// release Epsilon is then the ε that ρ implies at Delta, rounded up; in a limit Epsilon and Delta
// have no meaning.
type Guarantee = rational.Amount
