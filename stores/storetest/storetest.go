package storetest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"gocloud.dev/blob"
	_ "gocloud.dev/blob/s3blob" // the driver
)

// Server is a running server with one bucket.
type Server struct {
	URL string

	mu       sync.Mutex
	requests []string
	sent     int64
	refuse   func(r *http.Request) bool
}

// The credentials that the server's clients get by their environment.
const (
	ID     = "AKIDSTORETEST"
	Secret = "storetest-secret-that-nobody-may-see"
)

const bucket = "shelf"

// Start starts a server that ends with the test, gives the test's environment its credentials, and puts the companion
// beside the test's program.
func Start(t testing.TB) *Server {
	t.Helper()
	Beside(t)
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": ID, "AWS_SECRET_ACCESS_KEY": Secret, "AWS_REGION": "us-east-1",
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/nonexistent", "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent"} {
		t.Setenv(name, value)
	}
	s := &Server{}
	fake := gofakes3.New(s3mem.New(), gofakes3.WithLogger(gofakes3.DiscardLog())).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		line := strings.TrimSpace(r.Method + " " + r.URL.Path + " " + r.Header.Get("Range"))
		if r.URL.Query().Has("prefix") {
			line += " prefix " + r.URL.Query().Get("prefix")
		}
		s.mu.Lock()
		s.requests = append(s.requests, line)
		refuse := s.refuse
		s.mu.Unlock()
		if refuse != nil && refuse(r) {
			http.Error(w, "<Error><Code>AccessDenied</Code><Message>secret words</Message></Error>", http.StatusForbidden)
			return
		}
		fake.ServeHTTP(&counter{w, s}, r)
	}))
	t.Cleanup(server.Close)
	s.URL = server.URL
	req, err := http.NewRequest(http.MethodPut, s.URL+"/"+bucket, nil)
	if err != nil {
		t.Fatal(err)
	}
	made, err := http.DefaultClient.Do(req)
	if err != nil || made.StatusCode != http.StatusOK {
		t.Fatalf("the bucket was not made: %v", err)
	}
	made.Body.Close()
	return s
}

// Address returns the address of a key, as a job names it.
func (s *Server) Address(key string) string {
	return fmt.Sprintf("s3://%s/%s?endpoint=%s&use_path_style=true&hostname_immutable=true", bucket, key, s.URL)
}

// Put stores an object.
func (s *Server) Put(t testing.TB, key string, data []byte) {
	t.Helper()
	b := s.open(t)
	defer b.Close()
	if err := b.Upload(context.Background(), key, bytes.NewReader(data),
		&blob.WriterOptions{ContentType: "application/octet-stream"}); err != nil {
		t.Fatal(err)
	}
}

// Refuse has the server refuse some requests from now on; nil is none.
func (s *Server) Refuse(which func(r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = which
}

// Requests returns what the server was asked, in order: its log.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Sent returns how many bytes of answers the server sent.
func (s *Server) Sent() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent
}

// counter counts what is sent.
type counter struct {
	http.ResponseWriter
	to *Server
}

func (c *counter) Write(b []byte) (int, error) {
	c.to.mu.Lock()
	c.to.sent += int64(len(b))
	c.to.mu.Unlock()
	return c.ResponseWriter.Write(b)
}

// Get returns what an object holds.
func (s *Server) Get(t testing.TB, key string) []byte {
	t.Helper()
	r, err := http.Get(s.URL + "/" + bucket + "/" + key)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", key, r.Status, err)
	}
	return b
}

// Keys are those of all objects that begin with prefix.
func (s *Server) Keys(t testing.TB, prefix string) (keys []string) {
	t.Helper()
	b := s.open(t)
	defer b.Close()
	it := b.List(&blob.ListOptions{Prefix: prefix})
	for {
		o, err := it.Next(context.Background())
		if err == io.EOF {
			return keys
		}
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, o.Key)
	}
}

func (s *Server) open(t testing.TB) *blob.Bucket {
	t.Helper()
	b, err := blob.OpenBucket(context.Background(), strings.Replace(s.Address(""), "/?", "?", 1))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
