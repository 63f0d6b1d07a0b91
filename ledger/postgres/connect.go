package postgres

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Way is a word for the safety of bytes between this program and a server.
type Way string

// The ways.
const (
	Here      Way = "here"      // they do not leave this machine
	Checked   Way = "checked"   // encrypted, and the server's certificate is checked
	Encrypted Way = "encrypted" // encrypted, and whoever answers is believed
	Plain     Way = "plain"     // readable on the way, as the address asks for
)

// Ways are all ways, from the safest on.
var Ways = []Way{Here, Checked, Encrypted, Plain}

// plain matches an address that asks for a connection that is not encrypted.
var plain = regexp.MustCompile(`(?i)\bsslmode\s*=\s*'?disable\b`)

// ErrPlain is the error of an address whose connection would not be encrypted although the address does not say so.
var ErrPlain = errors.New("would not be encrypted")

// Config reads an address. Off this machine a connection is encrypted, unless the address itself says sslmode=disable: an
// environment variable does not suffice, and nothing falls back to a connection that is not.
func Config(address string) (*pgconn.Config, Way, error) {
	c, err := pgconn.ParseConfig(address)
	if err != nil {
		return nil, "", err
	}
	c.OnNotice = func(*pgconn.PgConn, *pgconn.Notice) {} // it may quote a row
	way := Here
	all := append([]*pgconn.FallbackConfig{{Host: c.Host, Port: c.Port, TLSConfig: c.TLSConfig}}, c.Fallbacks...)
	kept := slices.DeleteFunc(all, func(f *pgconn.FallbackConfig) bool {
		return f.TLSConfig == nil && !local(f.Host) && !plain.MatchString(address)
	})
	if len(kept) == 0 {
		return nil, "", ErrPlain
	}
	for _, f := range kept {
		if !local(f.Host) {
			way = worse(way, wayOf(f.TLSConfig))
		}
	}
	c.Host, c.Port, c.TLSConfig, c.Fallbacks = kept[0].Host, kept[0].Port, kept[0].TLSConfig, kept[1:]
	return c, way, nil
}

func wayOf(c *tls.Config) Way {
	switch {
	case c == nil:
		return Plain
	case c.InsecureSkipVerify && c.VerifyPeerCertificate == nil:
		return Encrypted
	}
	return Checked
}

func worse(a, b Way) Way {
	return Ways[max(slices.Index(Ways, a), slices.Index(Ways, b))]
}

// local reports whether a host is this machine: a socket of it, or its loopback.
func local(host string) bool {
	ip := net.ParseIP(host)
	return strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@") || host == "localhost" || ip != nil && ip.IsLoopback()
}

// Cause is why a server did not do what it was asked for, as far as it decides what to do about it.
type Cause int

// The causes.
const (
	Other       Cause = iota
	Unreachable       // no server answers, or it stops, starts, or has no room: it may answer later
	Untrusted         // the connection cannot be encrypted as the address asks for
	Denied            // the server does not know the user, or a right is missing
	Absent            // there is no such database
)

// CauseOf returns the cause of an error of a connection.
func CauseOf(err error) Cause {
	var server *pgconn.PgError
	var certificate *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var header tls.RecordHeaderError
	var alert tls.AlertError
	switch {
	case errors.As(err, &server):
		return causeOf(server.Code)
	case errors.Is(err, ErrPlain), errors.As(err, &certificate), errors.As(err, &authority), errors.As(err, &name), errors.As(err, &invalid),
		errors.As(err, &header), errors.As(err, &alert), strings.Contains(err.Error(), "server refused TLS connection"):
		return Untrusted
	case connecting(err):
		return Unreachable
	}
	return Other
}

// causeOf returns the cause of an SQLSTATE.
func causeOf(state string) Cause {
	switch class := state[:min(2, len(state))]; {
	case class == "08", state == "53300", state == "57P01", state == "57P02", state == "57P03", state == "57P05":
		return Unreachable
	case class == "28", state == "42501":
		return Denied
	case state == "3D000":
		return Absent
	}
	return Other
}

// connecting reports whether an error is one of the connection itself: whatever the server said is none.
func connecting(err error) bool {
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) || pgconn.SafeToRetry(err) || pgconn.Timeout(err) ||
		strings.Contains(err.Error(), "conn closed") || strings.Contains(err.Error(), "unexpected EOF")
}
