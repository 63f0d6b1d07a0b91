// Package output makes everything that a user gets: the report of a plan, the files of the releases,
// the folder that holds them, and the text on a terminal. A folder is made under another
// name and renamed into place, so that it appears whole or not at all. The package also
// reads stored folders back.
package output
