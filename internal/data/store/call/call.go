package call

import (
	"errors"
	"slices"
	"time"
)

// Program is the name of the companion's program.
const Program = "dprelease-stores"

// Scratch is the number of the open file that the companion writes ranges to.
const Scratch = 3

// The errors of a store. Their texts are fixed, because those of a server may name keys and values.
var (
	ErrAddress = errors.New("is not the address of an object: write scheme://bucket/key, with options after a question mark and " +
		"without credentials")
	ErrDriver  = errors.New("is the address of a store that this program does not know: it knows s3://, gs:// and azblob://")
	ErrMissing = errors.New("is not there")
	ErrRefused = errors.New("is refused by the store: give credentials as its own tools take them (environment, profile, workload identity)")
	ErrAnswer  = errors.New("failed: the store does not answer as it should")
	// ErrUntrusted is the error of a connection that would not be encrypted, or ends at somebody else.
	ErrUntrusted = errors.New("cannot be reached over TLS: the store's certificate is not trusted, or the environment names an endpoint " +
		"without TLS; endpoint=http://… in the address itself sends rows as they are")
	ErrChanged = errors.New("changed while it was read")
	ErrThere   = errors.New("is there already")
	ErrScratch = errors.New("cannot be kept in the folder of temporary files: make room there, or name another one (TMPDIR)")
)

// errs gives each error its number in an answer, from 1.
var errs = []error{ErrAddress, ErrDriver, ErrMissing, ErrRefused, ErrAnswer, ErrChanged, ErrThere, ErrScratch, ErrUntrusted}

// Number returns the number of an error in an answer: 0 for none, and that of ErrAnswer for an unknown one.
func Number(err error) int {
	if err == nil {
		return 0
	}
	for i, e := range errs {
		if errors.Is(err, e) {
			return i + 1
		}
	}
	return slices.Index(errs, ErrAnswer) + 1
}

// Error returns the error of a number.
func Error(number int) error {
	if number < 1 || number > len(errs) {
		if number == 0 {
			return nil
		}
		return ErrAnswer
	}
	return errs[number-1]
}

// Kind is the purpose of a request. The zero value asks for nothing.
type Kind int

// The requests. Open comes first, and once; Snapshot and Artifact want no open bucket.
const (
	Open       Kind = iota + 1 // the bucket at Address
	List                       // the objects whose keys begin with Key, Most at most
	Attributes                 // the Version of an object
	Ranges                     // ranges of an object of this Version, into the scratch file from At
	Whole                      // all of a small object, as Data
	Create                     // an object from Data, whole or not at all, if none is there
	Remove                     // an object
	Snapshot                   // the files and columns of an Iceberg table at Address
	Artifact                   // the files of the OCI artifact at Address, into the folder Key
)

// Request is one call.
type Request struct {
	ID       int
	Kind     Kind
	Address  string
	Secret   []byte // of the scratch file (package unlinked), with Open
	Key      string
	Most     int
	Ranges   []Range
	At       int64 // where the object begins in the scratch file
	Version  Version
	Data     []byte
	Snapshot int64
}

// Answer answers the request of the same ID. Failed is the number of an error.
type Answer struct {
	ID      int
	Failed  int
	Listed  []Listed
	Version Version
	Data    []byte // of an object; of a snapshot or artifact what the caller of those expects
	Refused *Refusal
}

// Refusal is the reason for which a table cannot be read, in the words of package table.
type Refusal struct{ Code, File, Detail string }

// Range is a stretch of bytes of an object.
type Range struct{ Off, Size int64 }

// Listed is an entry of a listing.
type Listed struct {
	Key      string
	Size     int64
	Modified time.Time
}

// Version tells one version of an object from another.
type Version struct {
	ETag     string
	Size     int64
	Modified time.Time
}

// Same reports whether two versions are the same.
func (v Version) Same(o Version) bool {
	return v.ETag == o.ETag && v.Size == o.Size && v.Modified.Equal(o.Modified)
}
