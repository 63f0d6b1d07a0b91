package samplers_test

import (
	"fmt"

	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/samplers"
)

// A simple random sample of 800 of 6,194 schools: what a mechanism that is
// 1.79-private on the sample costs on the population.
func ExampleSRSWOR() {
	design, err := samplers.NewSRSWOR(800, 6194)
	if err != nil {
		panic(err)
	}
	draw, err := samplers.Begin(design, 6194)
	if err != nil {
		panic(err)
	}
	drawn := 0
	for row := 0; row < 6194; row += 1000 {
		chosen, err := draw.Next(min(1000, 6194-row))
		if err != nil {
			panic(err)
		}
		drawn += len(chosen.Rows)
	}
	if err := draw.Done(); err != nil {
		panic(err)
	}
	fmt.Println(drawn, "rows were drawn")
	fmt.Printf("%T\n", design.Event(privacy.Pure{Eps: 1.79}))
	// Output:
	// 800 rows were drawn
	// privacy.WithoutReplacement
}

// Each row has its own coin. The number of rows drawn is random and private.
func ExamplePoisson() {
	rate, err := samplers.ParseRate("1/20")
	if err != nil {
		panic(err)
	}
	design, err := samplers.NewPoisson(rate, 0)
	if err != nil {
		panic(err)
	}
	fmt.Println(design.Supports(privacy.AddRemove))
	fmt.Println(design.Facts().MinWeight)
	// Output:
	// <nil>
	// 20
}
