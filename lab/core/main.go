package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

func main() {
	log.SetFlags(0)
	program := flag.String("bin", "bin/dprelease", "the program")
	runs := flag.Int("runs", 30, "how often it is started")
	graph := flag.String("graph", "", "print what each part of a build cost, from this file")
	flag.Parse()
	if *graph != "" {
		if err := shares(*graph); err != nil {
			log.Fatal(err)
		}
		return
	}
	info, err := os.Stat(*program)
	if err != nil {
		log.Fatal(err)
	}
	modules, err := exec.Command("go", "list", "-m", "all").Output()
	if err != nil {
		log.Fatal(err)
	}
	took, memory, err := start(*program, *runs)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("size, stripped     %.1f MB\n", float64(info.Size())/1e6)
	fmt.Printf("modules            %d\n", strings.Count(string(modules), "\n"))
	fmt.Printf("version, time      %.1f ms, the least of %d\n", float64(took)/1e6, *runs)
	fmt.Printf("version, memory    %.1f MB resident, the least of %d; most of it are pages of the file\n", float64(memory)/1e3, *runs)
}

// start returns the least time of version, and its least memory in kB. The least is what the machine's other work disturbs least.
func start(program string, runs int) (took time.Duration, memory int64, err error) {
	for range runs {
		c := exec.Command(program, "version")
		begun := time.Now()
		if err := c.Run(); err != nil {
			return 0, 0, err
		}
		t := time.Since(begun)
		m := c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
		if took == 0 || t < took {
			took = t
		}
		if memory == 0 || m < memory {
			memory = m
		}
	}
	return took, memory, nil
}

// action is one step of a build.
type action struct {
	Mode, Package   string
	CmdUser, CmdSys time.Duration
}

// parts are the parts of a build, by the first letters of a package. The first that fits counts.
var parts = []struct{ name, prefix string }{
	{"SQLite", "modernc.org/"},
	{"Arrow, Parquet", "github.com/apache/"},
	{"compression", "github.com/klauspost/"}, {"compression", "github.com/andybalholm/"}, {"compression", "github.com/pierrec/"},
	{"gRPC, protobuf", "google.golang.org/"},
	{"PostgreSQL", "github.com/jackc/"},
	{"gonum", "gonum.org/"},
	{"dprelease", "github.com/dprelease/"},
}

// shares prints the processor time of each part of a build. Processor time does not depend on what else the machine does.
func shares(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var all []action
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	cost := map[string]time.Duration{}
	var order []string
	var sum time.Duration
	for _, a := range all {
		name := partOf(a)
		if _, ok := cost[name]; !ok {
			order = append(order, name)
		}
		cost[name] += a.CmdUser + a.CmdSys
		sum += a.CmdUser + a.CmdSys
	}
	for _, name := range order {
		if cost[name] > 0 {
			fmt.Printf("%-18s %6.1f s of processor time, %2.0f %%\n", name, cost[name].Seconds(), 100*cost[name].Seconds()/sum.Seconds())
		}
	}
	fmt.Printf("%-18s %6.1f s\n", "all", sum.Seconds())
	return nil
}

func partOf(a action) string {
	if a.Mode == "link" {
		return "linking"
	}
	for _, p := range parts {
		if strings.HasPrefix(a.Package, p.prefix) {
			return p.name
		}
	}
	if first, _, _ := strings.Cut(a.Package, "/"); !strings.Contains(first, ".") {
		return "Go's library"
	}
	return "the rest"
}
