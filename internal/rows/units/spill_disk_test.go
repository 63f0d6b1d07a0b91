package units

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/data/unlinked"
	"github.com/dprelease/dprelease/internal/noise"
)

// fillDisk spills until something happens.
func fillDisk(dir string, blocks int, before func(f *Folder, x *Index)) error {
	f, err := NewFolder(FoldSpec{Units: int64(blocks) * chunkRows, Views: 1, Columns: []Fold{{Column: "x", By: FoldSum, Number: true, Upper: 1}}, Memory: 2 << 20, Dir: dir})
	if err != nil {
		return err
	}
	defer f.Close()
	x, err := NewIndex(IndexSpec{Null: DropNulls, Memory: 2 << 20, Dir: dir})
	if err != nil {
		return err
	}
	defer x.Close()
	ids, numbers, values := make([]int64, chunkRows), make([]int32, chunkRows), make([]float64, chunkRows)
	for block := range blocks {
		for i := range ids {
			ids[i], numbers[i] = int64(block*chunkRows+i), int32(block*chunkRows+i)
		}
		if before != nil && block == 6 {
			before(f, x)
		}
		if err := f.Add(numbers, []table.Values{{Float64: values}}, [][]byte{nil}); err != nil {
			return err
		}
		if err := x.Add(table.Values{Int64: ids}, chunkRows); err != nil {
			return err
		}
	}
	u, err := f.Finish()
	if err != nil {
		return err
	}
	defer u.Close()
	return x.Finish()
}

// full is a device that has no room for anything.
func full(t *testing.T) *unlinked.File {
	t.Helper()
	f, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	return must(unlinked.Open(f, make([]byte, unlinked.KeyBytes)))
}

// fullSorter is a sorter that has room for nothing.
func fullSorter(t *testing.T, parts int) *Sorter {
	s := NewSorter(parts, 0, "")
	s.disk = full(t)
	return s
}

func TestAFullDiskIsSaid(t *testing.T) {
	dir := t.TempDir()
	for name, before := range map[string]func(f *Folder, x *Index){
		"fold":    func(f *Folder, _ *Index) { f.late.Sorter = fullSorter(t, 64) },
		"index":   func(_ *Folder, x *Index) { x.late = fullSorter(t, lateParts) },
		"numbers": func(_ *Folder, x *Index) { x.numbers.disk = full(t) },
	} {
		if err := fillDisk(dir, 8, before); !errors.Is(err, unlinked.ErrFull) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := fillDisk(filepath.Join(dir, "not there"), 2, nil); !errors.Is(err, unlinked.ErrUnusable) {
		t.Errorf("a folder that is not there: %v", err)
	}
	if err := fillDisk(dir, 8, nil); err != nil {
		t.Error(err)
	}
	x, err := indexOf([]entry{{1, 1}, {2, 1}})
	if err != nil {
		t.Fatal(err)
	}
	x.spec.Memory, x.spec.Dir = 1, dir
	c := must(NewCapper(x, 1, 1, must(noise.NewSource())))
	c.parts.disk = full(t)
	err = c.Add(0, []int32{1, 1})
	if err == nil {
		_, err = c.Finish()
	}
	if !errors.Is(err, unlinked.ErrFull) {
		t.Errorf("cap: %v", err)
	}
}

// TestMain lets the test program be killed in the middle of its work.
func TestMain(m *testing.M) {
	if dir := os.Getenv("ROWS_TEST_SPILL"); dir != "" {
		err := fillDisk(dir, 1<<14, func(f *Folder, x *Index) {
			fmt.Println(f.late.disk.Size() > 0 && x.late.disk.Size() > 0)
			select {} // until the signal
		})
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestNothingIsLeftAfterAKill(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "ROWS_TEST_SPILL="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || strings.TrimSpace(line) != "true" {
		t.Errorf("the program wrote nothing to the disk: %q, %v", line, err)
	}
	open, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	spilled := 0
	for _, fd := range open {
		if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, dir) && strings.HasSuffix(to, "(deleted)") {
			spilled++
		}
	}
	if spilled < 2 {
		t.Errorf("the program has %d files without a name open", spilled)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("%d files were left: %v", len(left), err)
	}
}
