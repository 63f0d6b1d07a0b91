package main

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/dprelease/dprelease/internal/data/store/call"
	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/data/unlinked"
	"github.com/dprelease/dprelease/stores/artifact"
	"github.com/dprelease/dprelease/stores/blobs"
	list "github.com/dprelease/dprelease/stores/iceberg"
)

func main() {
	if len(os.Args) > 1 {
		fmt.Fprintln(os.Stderr, "dprelease starts this program where a job names object storage, an Iceberg table or a plugin in a "+
			"registry; there is nothing to call")
		os.Exit(2)
	}
	// A signal of the terminal goes to the program, too, which decides what it ends.
	signal.Ignore(os.Interrupt, syscall.SIGHUP)
	if err := serve(context.Background(), os.Stdin, os.Stdout, os.NewFile(call.Scratch, "scratch")); err != nil {
		os.Exit(1)
	}
}

// server answers the requests of one program.
type server struct {
	file    *os.File       // handed over by the program
	scratch *unlinked.File // the same, once the program said how it is encrypted
	bucket  *blobs.Bucket

	mu sync.Mutex
	to *gob.Encoder
}

// serve answers requests until there are no more. Each is answered beside the others.
func serve(ctx context.Context, in io.Reader, out io.Writer, file *os.File) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{file: file, to: gob.NewEncoder(out)}
	from := gob.NewDecoder(in)
	for {
		var r call.Request
		if err := from.Decode(&r); err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
		if r.Kind == call.Open { // what follows needs the bucket
			s.answer(ctx, r)
			continue
		}
		go s.answer(ctx, r)
	}
}

// answer carries out one request. A panic of a library is an answer, too.
func (s *server) answer(ctx context.Context, r call.Request) {
	a := call.Answer{}
	defer func() {
		if recover() != nil {
			a = call.Answer{Failed: call.Number(call.ErrAnswer)}
		}
		a.ID = r.ID
		s.mu.Lock()
		defer s.mu.Unlock()
		_ = s.to.Encode(a) // a program that is gone hears nothing
	}()
	var err error
	switch r.Kind {
	case call.Open:
		if s.scratch, err = unlinked.Open(s.file, r.Secret); err == nil {
			s.bucket, err = blobs.Open(ctx, r.Address)
		}
	case call.Snapshot:
		a, err = snapshot(ctx, r)
	case call.Artifact:
		a, err = fetchArtifact(ctx, r)
	default:
		a, err = s.ofBucket(ctx, r)
	}
	a.Failed = call.Number(err)
}

// ofBucket carries out a request about the open bucket.
func (s *server) ofBucket(ctx context.Context, r call.Request) (a call.Answer, err error) {
	b := s.bucket
	if b == nil {
		return a, call.ErrAddress
	}
	switch r.Kind {
	case call.List:
		a.Listed, err = b.List(ctx, r.Key, r.Most)
	case call.Attributes:
		a.Version, err = b.Version(ctx, r.Key)
	case call.Ranges:
		err = b.Fetch(ctx, r, s.scratch)
	case call.Whole:
		a.Data, err = b.Read(ctx, r.Key)
	case call.Create:
		err = b.Create(ctx, r.Key, r.Data)
	case call.Remove:
		err = b.Remove(ctx, r.Key)
	default:
		err = call.ErrAnswer
	}
	return a, err
}

// snapshot finds the files and columns of an Iceberg table.
func snapshot(ctx context.Context, r call.Request) (a call.Answer, err error) {
	found, err := list.List(ctx, r.Address, r.Snapshot)
	var known *table.Error
	if errors.As(err, &known) {
		return call.Answer{Refused: &call.Refusal{Code: known.Code, File: known.File, Detail: known.Detail}}, nil
	}
	var b bytes.Buffer
	if err == nil {
		err = gob.NewEncoder(&b).Encode(found)
	}
	return call.Answer{Data: b.Bytes()}, err
}

// fetchArtifact fetches a plugin. Its errors keep the words of the registry: no table is near.
func fetchArtifact(ctx context.Context, r call.Request) (call.Answer, error) {
	name, err := artifact.Fetch(ctx, r.Address, r.Key)
	if err != nil {
		return call.Answer{Refused: &call.Refusal{Detail: err.Error()}}, nil
	}
	return call.Answer{Data: []byte(name)}, nil
}
