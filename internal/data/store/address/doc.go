// Package address tells addresses of object storage from paths of this machine. It imports the standard library and
// opens nothing: the job language uses it, too.
package address
