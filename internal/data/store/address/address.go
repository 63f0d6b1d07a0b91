package address

import (
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var scheme = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]+)://`)

// Is reports whether a path is an address of object storage. file:// is none.
func Is(path string) bool { return scheme.MatchString(path) && !strings.HasPrefix(path, "file://") }

// Known are the stores that this program reads, by the scheme of their addresses.
var Known = []string{"s3", "gs", "azblob"}

// Foreign reports whether a path is an address that no store answers, such as one of the web.
func Foreign(path string) bool {
	name, _, _ := strings.Cut(scheme.FindString(path), "://")
	return Is(path) && !slices.Contains(Known, strings.ToLower(name))
}

// Local returns the path of a file:// address, and any other path as it is.
func Local(path string) string { return strings.TrimPrefix(path, "file://") }

// Split splits an address into the address of its bucket, the key in it, and the options after a question mark. ok is false
// for an address that holds a credential.
func Split(text string) (root, key, options string, ok bool) {
	begin := scheme.FindString(text)
	rest, options, _ := strings.Cut(text[len(begin):], "?")
	bucket, key, _ := strings.Cut(rest, "/")
	values, err := url.ParseQuery(options)
	if begin == "" || bucket == "" || strings.ContainsAny(bucket, "@:") || err != nil {
		return "", "", "", false
	}
	for name := range values {
		for _, word := range []string{"key", "secret", "token", "password", "sas", "sig", "credential"} {
			if strings.Contains(strings.ToLower(name), word) && name != "kmskeyid" {
				return "", "", "", false
			}
		}
	}
	return begin + bucket, strings.Trim(key, "/"), options, true
}

// Unencrypted reports whether an address names an endpoint without TLS that is not of this machine.
func Unencrypted(text string) bool {
	_, options, _ := strings.Cut(text, "?")
	values, _ := url.ParseQuery(options)
	at, err := url.Parse(values.Get("endpoint"))
	if err != nil || values.Get("protocol") == "http" || values.Get("disable_https") == "true" {
		return true
	}
	ip := net.ParseIP(at.Hostname())
	return at.Scheme == "http" && at.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback())
}

// Plain returns an address without its options.
func Plain(text string) string {
	if !Is(text) {
		return text
	}
	text, _, _ = strings.Cut(text, "?")
	return text
}

// In returns the name of a file in a folder of this machine or of object storage.
func In(dir, name string) string {
	if !Is(dir) {
		return filepath.Join(dir, name)
	}
	return strings.TrimSuffix(Plain(dir), "/") + "/" + name
}
