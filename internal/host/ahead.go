package host

import (
	"sync"

	"github.com/dprelease/dprelease/internal/wire"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// ahead is memory for rows that is had while the job is still planned and debited:
// its pages are zeroed by another core meanwhile. It follows from the plan alone.
type ahead struct {
	mu     sync.Mutex
	began  bool
	done   sync.WaitGroup
	memory *laneMemory // nil where it was taken, or could not be had
}

// memoryLayout is the layout for the rows of a plan, as far as their number is public.
func memoryLayout(req sdk.ReleaseRequest) wire.MemoryLayout {
	columns, rows := len(req.Plan.Columns), req.Public.Population
	if !req.Public.Design.EqualWeights {
		columns++
	}
	if n := req.Public.Design.SampleSize; n > 0 {
		rows = n
	}
	return wire.NewMemoryLayout(columns, rows)
}

// begin begins with the memory of the plan that a plugin was first asked for, the one
// that is carried out unless the plan is made again.
func (a *ahead) begin(layout wire.MemoryLayout) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.began {
		return
	}
	a.began = true
	a.done.Go(func() { a.memory, _ = newLaneMemory(layout) })
}

// take is what was begun, where it is of this layout, or else new memory.
func (a *ahead) take(layout wire.MemoryLayout) (*laneMemory, error) {
	if m := a.end(); m != nil {
		if m.layout == layout {
			return m, nil
		}
		m.free(m.mem)
	}
	return newLaneMemory(layout)
}

// drop gives back what nobody took, and lets nothing more begin.
func (a *ahead) drop() {
	if m := a.end(); m != nil {
		m.free(m.mem)
	}
}

func (a *ahead) end() *laneMemory {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.began = true
	a.done.Wait()
	m := a.memory
	a.memory = nil
	return m
}
