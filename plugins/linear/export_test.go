package linear

// NarrowLucky takes the margin of Gaussian noise for Laplace noise, as was done before, until the function that it returns is called.
func NarrowLucky() (back func()) {
	old := luckyMargins
	luckyMargins.laplace, luckyMargins.squares = old.gaussian, old.gaussian
	return func() { luckyMargins = old }
}

// NoMore leaves the margin for variances that came out small away, as was done before, until the function that it returns is called.
func NoMore() (back func()) {
	most, reach := moreMost, moreReach
	moreMost, moreReach = 0, 0
	return func() { moreMost, moreReach = most, reach }
}
