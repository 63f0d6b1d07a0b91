// Command dprelease-beam is the engine of dprelease: it has an Apache Beam runner add up the parts of a job that says
// engine: {runner: prism}. It is started in two ways.
//
//   - By dprelease: it makes the pipeline, and has the runner carry it out.
//   - By a runner, or by the program in a worker's container, as a worker.
//
// # What a runner gets to see
//
// A pipeline is a text that runners keep and show. It holds how many parts there are, and sealed bytes. What workers send
// one another and what they find is sealed, too: with AES-256-GCM, under a key that is made for each pipeline and stands in
// it sealed. The key that opens it is in the memory of one process (prism in this process), or in a file that the launching
// host and the workers can read (engine.options.secret_file).
//
// An error of a worker says that a part failed. What went wrong with the data is part of what it found (P20). The numbers
// of elements that a runner counts are those of parts and shards, which the job says.
package main
