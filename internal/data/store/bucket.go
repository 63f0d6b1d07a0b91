package store

import (
	"context"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/data/store/address"
	"github.com/dprelease/dprelease/internal/data/store/call"
)

// The errors of a store, in fixed words.
var (
	ErrAddress = call.ErrAddress
	ErrDriver  = call.ErrDriver
	ErrMissing = call.ErrMissing
	ErrRefused = call.ErrRefused
	ErrAnswer  = call.ErrAnswer
	ErrChanged = call.ErrChanged
	ErrThere   = call.ErrThere
	ErrScratch = call.ErrScratch

	ErrUntrusted = call.ErrUntrusted
)

// Bucket is an open bucket. Root is its address without options.
type Bucket struct {
	Root    string
	program *program
}

// Listed is an entry of a listing.
type Listed = call.Listed

// Open opens the bucket of an address, and returns the key.
func Open(ctx context.Context, text string) (*Bucket, string, error) {
	root, key, options, ok := address.Split(text)
	if !ok {
		return nil, "", ErrAddress
	}
	if scheme, _, _ := strings.Cut(root, "://"); !slices.Contains(address.Known, scheme) {
		return nil, "", ErrDriver
	}
	if options != "" {
		options = "?" + options
	}
	p, err := start(ctx)
	if err != nil {
		return nil, "", err
	}
	_, secret := p.scratch.Share()
	if _, err := p.ask(ctx, call.Request{Kind: call.Open, Address: root + options, Secret: secret}); err != nil {
		p.stop()
		return nil, "", err
	}
	return &Bucket{Root: root, program: p}, key, nil
}

// Close closes the bucket.
func (b *Bucket) Close() { b.program.stop() }

// List lists the objects whose keys begin with prefix, in the order of their keys. most bounds their number; 0 means all.
func (b *Bucket) List(ctx context.Context, prefix string, most int) ([]Listed, error) {
	a, err := b.program.ask(ctx, call.Request{Kind: call.List, Key: prefix, Most: most})
	return a.Listed, err
}

// Read reads a whole object.
func (b *Bucket) Read(ctx context.Context, key string) ([]byte, error) {
	a, err := b.program.ask(ctx, call.Request{Kind: call.Whole, Key: key})
	return a.Data, err
}

// Create makes a new object, whole or not at all.
func (b *Bucket) Create(ctx context.Context, key string, data []byte) error {
	_, err := b.program.ask(ctx, call.Request{Kind: call.Create, Key: key, Data: data})
	return err
}

// Remove removes an object.
func (b *Bucket) Remove(ctx context.Context, key string) error {
	_, err := b.program.ask(ctx, call.Request{Kind: call.Remove, Key: key})
	return err
}

// Ask has the companion answer one request that wants no bucket.
func Ask(ctx context.Context, r call.Request) (call.Answer, error) {
	p, err := start(ctx)
	if err != nil {
		return call.Answer{}, err
	}
	defer p.stop()
	return p.ask(ctx, r)
}
