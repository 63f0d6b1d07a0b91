// The program core prints what the program weighs: its size, the modules it is built from, and the time and memory of its start.
// With -graph it prints instead what each part of a build cost, from what go build -debug-actiongraph wrote.
package main
