package pld

import (
	"fmt"
	"testing"
	"time"
)

func TestSmoke(t *testing.T) {
	run := func(name string, m Mechanism, d float64) {
		t0 := time.Now()
		iv, err := Epsilon(m, d, Options{})
		t1 := time.Since(t0)
		t0 = time.Now()
		u, err2 := Epsilon(m, d, Options{UpperOnly: true})
		fmt.Println(name, iv.Lower, iv.Upper, err, t1, "|", u.Upper, err2, time.Since(t0))
	}
	run("bench [6.89739,6.90742]", Repeat(10000, Poisson(0.01, Gaussian(1))), 1e-6)
	run("gauss", Repeat(10000, Gaussian(20)), 1e-6)
	run("t6 2.37567 2.379844", Compose(Repeat(1000, Poisson(0.01, Gaussian(1))), Repeat(500, Poisson(.02, Gaussian(2)))), 1e-6)
	run("RR 59.51080423066093", Repeat(300, RandomizedResponse(3, 0.5)), 1e-6)
	run("lap .5 exact", Laplace(.5), 1e-5)
	run("lap 20x10 .49999897", Repeat(10, Laplace(20)), 1e-9)
	run("lap q.1 T=10  [1.580586,1.581236]", Repeat(10, Poisson(.1, Laplace(1))), 1e-9)
	run("p4 >=1.85", Poisson(.1, Compose(Approx(2, 0), Approx(2, 0))), 1e-300)
	run("tiny", Repeat(1e9, Poisson(1e-6, Gaussian(1))), 1e-9)
	run("d300", Repeat(10000, Poisson(.01, Gaussian(1))), 1e-300)
	run("wor", Repeat(1000, WithoutReplacement(.01, Gaussian(1))), 1e-6)
	run("t2c 57.74 57.79", Repeat(1000, PoissonReplaceGaussian(.1, 1)), 1e-9)
	run("q=.5,s=.5,1e5 79467", Repeat(100000, Poisson(.5, Gaussian(.5))), 1e-9)
	run("q=1e-4,s=.5,1e3 1.1583,1.16338", Repeat(1000, Poisson(1e-4, Gaussian(.5))), 1e-6)
	run("q=1e-4,s=20,1e3 1.359e-4,3.35e-4", Repeat(1000, Poisson(1e-4, Gaussian(20))), 1e-6)
}
