// Command linear compares the two ways to release a linear model, the mechanisms
// regression and sgd, with least squares on the same table (lab/studies/linear-models.md).
//
// One table is generated: flights whose delay falls slowly with the distance. The other
// is the incomes of examples/data. Noise of the planned size is simulated from a fixed
// seed, so that the figures can be made again. What the command prints is therefore not
// private. With -write it writes the generated table to a Parquet file instead, for
// examples/linear/flights.yaml.
package main
