package table

import (
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/dprelease/dprelease/internal/testkit/parquet"
)

// control is a small valid file: doubles 0..99 in column x, and 100 of something else in y.
func control(t testing.TB, codec parquet.Codec, optional, dict, v2 bool, enc parquet.Encoding, y any) []byte {
	t.Helper()
	rep := parquet.Repetitions.Required
	var valid []bool
	if optional {
		rep = parquet.Repetitions.Optional
		valid = make([]bool, 100)
		for i := range valid {
			valid[i] = true
		}
	}
	x := make([]float64, 100)
	for i := range x {
		x[i] = float64(i)
	}
	node := func(name string, typ parquet.Type) parquet.Node {
		return parquet.NewNode(name, rep, parquet.NoLogicalType, typ, 0)
	}
	cols := []genColumn{{node: node("x", parquet.Types.Double), values: x, valid: valid}}
	switch y.(type) {
	case []int64:
		cols = append(cols, genColumn{node: node("y", parquet.Types.Int64), values: y, valid: valid, encoding: enc})
	case []parquet.ByteArray:
		cols = append(cols, genColumn{node: node("y", parquet.Types.ByteArray), values: y, valid: valid, encoding: enc})
	}
	return writeParquet(t, style{codec: codec, dict: dict, v2: v2, groups: []int{100}}, cols)
}

func integers(n int) []int64 {
	v := make([]int64, n)
	for i := range v {
		v[i] = int64(i * i)
	}
	return v
}

func strings100() []parquet.ByteArray {
	v := make([]parquet.ByteArray, 100)
	for i := range v {
		v[i] = parquet.ByteArray("prefix-" + string(rune('a'+i%26)))
	}
	return v
}

// refused examines a crafted file and wants an error of the given code, quickly and without much memory.
func refused(t *testing.T, code string, data []byte) {
	t.Helper()
	name := temp(t, "crafted.parquet", data)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	err, late := examined(name, (*Table).Examine)
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	var e *Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("Examine: %v; the scan: %v", err, late)
	}
	if used := after.TotalAlloc - before.TotalAlloc; took > time.Minute || used > 200<<20 {
		t.Errorf("took %v and %d bytes", took, used)
	}
}

func TestCraftedFooters(t *testing.T) {
	none := parquet.Codecs.Uncompressed
	base := control(t, none, false, false, false, 0, integers(100))
	group := func(f *tnode) *tnode { return &f.field(4).list[0] }
	meta := func(f *tnode, c int) *tnode { return group(f).field(1).list[c].field(3) }
	for name, c := range map[string]struct {
		code   string
		change func(f *tnode)
	}{
		"two columns share a chunk": {CodeCorrupt, func(f *tnode) { meta(f, 1).field(9).num = meta(f, 0).field(9).num }},
		"negative offset":           {CodeCorrupt, func(f *tnode) { meta(f, 0).field(9).num = -4 }},
		"offset overflows":          {CodeCorrupt, func(f *tnode) { meta(f, 0).field(9).num = math.MaxInt64 }},
		"size overflows":            {CodeCorrupt, func(f *tnode) { meta(f, 0).field(7).num = math.MaxInt64 }},
		"negative size":             {CodeCorrupt, func(f *tnode) { meta(f, 0).field(7).num = -1 }},
		"size of zero":              {CodeCorrupt, func(f *tnode) { meta(f, 0).field(7).num = 0 }},
		"chunk one byte short":      {CodeCorrupt, func(f *tnode) { meta(f, 0).field(7).num-- }},
		"one value more":            {CodeCorrupt, func(f *tnode) { meta(f, 0).field(5).num++ }},
		"negative rows":             {CodeCorrupt, func(f *tnode) { group(f).field(3).num = -100; f.field(3).num = -100 }},
		"file has more rows":        {CodeCorrupt, func(f *tnode) { f.field(3).num = 101 }},
		"groups have fewer rows":    {CodeCorrupt, func(f *tnode) { group(f).field(3).num = 99; f.field(3).num = 99 }},
		"all agree on one row less": {CodeCorrupt, func(f *tnode) {
			group(f).field(3).num--
			f.field(3).num--
			meta(f, 0).field(5).num--
			meta(f, 1).field(5).num--
		}},
		"all agree on 2^40 rows": {CodeLimit, func(f *tnode) {
			n := int64(1) << 40
			group(f).field(3).num, f.field(3).num, meta(f, 0).field(5).num, meta(f, 1).field(5).num = n, n, n, n
		}},
		"a column less":               {CodeCorrupt, func(f *tnode) { l := group(f).field(1); l.list = l.list[:1] }},
		"columns swapped":             {CodeCorrupt, func(f *tnode) { l := group(f).field(1).list; l[0], l[1] = l[1], l[0] }},
		"group twice":                 {CodeCorrupt, func(f *tnode) { l := f.field(4); l.list = append(l.list, l.list[0]); f.field(3).num = 200 }},
		"another path":                {CodeCorrupt, func(f *tnode) { meta(f, 0).field(3).list[0].bytes = []byte("z") }},
		"another type":                {CodeCorrupt, func(f *tnode) { meta(f, 0).field(1).num = 2 }},
		"both types changed":          {CodeCorrupt, func(f *tnode) { meta(f, 0).field(1).num = 1; f.field(2).list[1].field(1).num = 1 }},
		"optional instead":            {CodeCorrupt, func(f *tnode) { f.field(2).list[1].field(3).num = 1 }},
		"lzo":                         {CodeUnsupported, func(f *tnode) { meta(f, 0).field(4).num = 3 }},
		"a codec that is not":         {CodeUnsupported, func(f *tnode) { meta(f, 0).field(4).num = 99 }},
		"snappy instead":              {CodeCorrupt, func(f *tnode) { meta(f, 0).field(4).num = 1 }},
		"encodings not declared":      {CodeCorrupt, func(f *tnode) { meta(f, 0).field(2).list = nil }},
		"data in another file":        {CodeUnsupported, func(f *tnode) { group(f).field(1).list[0].insert(1, tnode{typ: 8, bytes: []byte("/etc/passwd")}) }},
		"encrypted":                   {CodeUnsupported, func(f *tnode) { f.insert(8, tnode{typ: 12}) }},
		"leaf with children":          {CodeCorrupt, func(f *tnode) { f.field(2).list[1].insert(5, tnode{typ: 5, num: 1}) }},
		"root expects more":           {CodeCorrupt, func(f *tnode) { f.field(2).list[0].field(5).num = math.MaxInt32 }},
		"root expects less":           {CodeCorrupt, func(f *tnode) { f.field(2).list[0].field(5).num = 1 }},
		"a type that is not":          {CodeCorrupt, func(f *tnode) { f.field(2).list[1].field(1).num = 8 }},
		"repetition that is not":      {CodeCorrupt, func(f *tnode) { f.field(2).list[1].field(3).num = 3 }},
		"dictionary offset too early": {CodeCorrupt, func(f *tnode) { meta(f, 1).insert(11, tnode{typ: 6, num: meta(f, 0).field(9).num}) }},
	} {
		t.Run(name, func(t *testing.T) { refused(t, c.code, rewrite(base, nil, c.change)) })
	}
}

func TestCraftedPages(t *testing.T) {
	c := parquet.Codecs
	first := func(change func(p *craftedPage)) func(p *craftedPage) {
		return func(p *craftedPage) {
			if p.column == 0 && p.index == 0 {
				change(p)
			}
		}
	}
	second := func(change func(p *craftedPage)) func(p *craftedPage) {
		return func(p *craftedPage) {
			if p.column == 1 && p.index == 0 {
				change(p)
			}
		}
	}
	data := func(p *craftedPage) *tnode {
		if h := p.header.field(8); h != nil {
			return h
		}
		return p.header.field(5)
	}
	plain := control(t, c.Uncompressed, false, false, false, 0, integers(100))
	zstd := control(t, c.Zstd, false, false, false, 0, integers(100))
	zstdText := control(t, c.Zstd, false, false, false, 0, strings100())
	zstdDelta := control(t, c.Zstd, false, false, false, parquet.Encodings.DeltaBinaryPacked, integers(100))
	nulls := control(t, c.Uncompressed, true, false, false, 0, integers(100))
	v2 := control(t, c.Snappy, true, false, true, 0, integers(100))
	dict := control(t, c.Uncompressed, false, true, false, 0, make([]int64, 100))
	delta := control(t, c.Uncompressed, false, false, false, parquet.Encodings.DeltaBinaryPacked, integers(100))
	text := control(t, c.Uncompressed, false, false, false, 0, strings100())
	deltaText := control(t, c.Uncompressed, false, false, false, parquet.Encodings.DeltaByteArray, strings100())
	replace := func(p *craftedPage, body []byte) {
		p.body = body
		p.header.field(2).num, p.header.field(3).num = int64(len(body)), int64(len(body))
	}
	for name, x := range map[string]struct {
		code   string
		base   []byte
		change func(p *craftedPage)
	}{
		"negative values":        {CodeCorrupt, plain, first(func(p *craftedPage) { data(p).field(1).num = -1 })},
		"no values":              {CodeCorrupt, plain, first(func(p *craftedPage) { data(p).field(1).num = 0 })},
		"more values":            {CodeCorrupt, plain, first(func(p *craftedPage) { data(p).field(1).num = 101 })},
		"page twice":             {CodeCorrupt, plain, first(func(p *craftedPage) { p.again = 1 })},
		"negative stored":        {CodeCorrupt, plain, first(func(p *craftedPage) { p.header.field(3).num = -1 })},
		"negative unpacked":      {CodeCorrupt, plain, first(func(p *craftedPage) { p.header.field(2).num = -1 })},
		"bomb of doubles":        {CodeCorrupt, zstd, first(func(p *craftedPage) { p.header.field(2).num = 100 << 20 })},
		"bomb of text":           {CodeLimit, zstdText, second(func(p *craftedPage) { p.header.field(2).num = 100 << 20 })},
		"bomb of integers":       {CodeLimit, zstdDelta, second(func(p *craftedPage) { p.header.field(2).num = 100 << 20 })},
		"unpacks to more":        {CodeCorrupt, zstd, second(func(p *craftedPage) { p.header.field(2).num -= 8; data(p).field(1).num-- })},
		"index page":             {CodeCorrupt, plain, first(func(p *craftedPage) { p.header.field(1).num = 1 })},
		"kind that is not":       {CodeCorrupt, plain, first(func(p *craftedPage) { p.header.field(1).num = 9 })},
		"split encoding":         {CodeCorrupt, plain, first(func(p *craftedPage) { data(p).field(2).num = 9 })},
		"dictionary encoding":    {CodeCorrupt, plain, first(func(p *craftedPage) { data(p).field(2).num = 8 })},
		"encoding of other type": {CodeUnsupported, plain, first(func(p *craftedPage) { data(p).field(2).num = 5 })},
		"bit-packed levels":      {CodeUnsupported, nulls, first(func(p *craftedPage) { data(p).field(3).num = 4 })},
		"levels too long":        {CodeCorrupt, nulls, first(func(p *craftedPage) { p.body = append([]byte{255, 255, 255, 255}, p.body[4:]...) })},
		"levels of length zero":  {CodeCorrupt, nulls, first(func(p *craftedPage) { p.body = append([]byte{0, 0, 0, 0}, p.body[4:]...) })},
		"a null without a value": {CodeCorrupt, nulls, first(func(p *craftedPage) { replace(p, append([]byte{4, 0, 0, 0, 2 * 99, 1, 2, 0}, p.body[7:]...)) })},
		"v2 levels too long":     {CodeCorrupt, v2, first(func(p *craftedPage) { data(p).field(5).num = 1 << 20 })},
		"v2 negative levels":     {CodeCorrupt, v2, first(func(p *craftedPage) { data(p).field(5).num = -1 })},
		"v2 other rows":          {CodeCorrupt, v2, first(func(p *craftedPage) { data(p).field(3).num = 99 })},
		"v2 more nulls":          {CodeCorrupt, v2, first(func(p *craftedPage) { data(p).field(2).num = 7 })},
		"v2 not compressed":      {CodeCorrupt, v2, second(func(p *craftedPage) { data(p).insert(7, tnode{typ: 2}) })},
		"two dictionaries":       {CodeCorrupt, dict, second(func(p *craftedPage) { p.again = 1 })},
		"dictionary holds less":  {CodeCorrupt, dict, second(func(p *craftedPage) { p.header.field(7).field(1).num++ })},
		"dictionary of 2^31":     {CodeLimit, dict, second(func(p *craftedPage) { p.header.field(7).field(1).num = math.MaxInt32 })},
		"delta blocks of 2^32":   {CodeCorrupt, delta, second(func(p *craftedPage) { replace(p, append([]byte{0x80, 0x80, 0x80, 0x80, 0x08}, p.body[2:]...)) })},
		"delta of other count":   {CodeCorrupt, delta, second(func(p *craftedPage) { p.body[3]-- })},
		"text longer than page":  {CodeCorrupt, text, second(func(p *craftedPage) { binary.LittleEndian.PutUint32(p.body, math.MaxUint32) })},
		"text shorter than page": {CodeCorrupt, text, second(func(p *craftedPage) { replace(p, append(p.body, 0)) })},
		"prefix of what is not":  {CodeCorrupt, deltaText, second(func(p *craftedPage) { replace(p, p.body[:len(p.body)/2]) })},
	} {
		t.Run(name, func(t *testing.T) { refused(t, x.code, rewrite(x.base, x.change, nil)) })
	}
}

// TestNullPages: a few bytes can stand for 2^24 nulls. They are read in bounded memory; when there are too many of
// them for the size of the file, they are refused.
func TestNullPages(t *testing.T) {
	base := control(t, parquet.Codecs.Uncompressed, true, false, false, 0, nil)
	const page = 1 << 24
	crafted := func(pages int) []byte {
		return rewrite(base, func(p *craftedPage) {
			levels := append(binary.AppendUvarint(nil, page<<1), 0)
			p.body = append(binary.LittleEndian.AppendUint32(nil, uint32(len(levels))), levels...)
			p.header.field(2).num, p.header.field(3).num = int64(len(p.body)), int64(len(p.body))
			p.header.field(5).field(1).num = page
			p.again = pages - 1
		}, func(f *tnode) {
			n := int64(pages) * page
			g := &f.field(4).list[0]
			f.field(3).num, g.field(3).num, g.field(1).list[0].field(3).field(5).num = n, n, n
		})
	}
	refused(t, CodeLimit, crafted(64))
	name := temp(t, "nulls.parquet", crafted(4))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	_, rows, err := sumAll(name)
	runtime.ReadMemStats(&after)
	if err != nil || rows != 4*page {
		t.Fatal(rows, err)
	}
	t.Logf("%v, %d MB allocated in total, %d MB from the system", time.Since(start), (after.TotalAlloc-before.TotalAlloc)>>20, (after.Sys-before.Sys)>>20)
	if after.TotalAlloc-before.TotalAlloc > 400<<20 {
		t.Errorf("allocated %d bytes", after.TotalAlloc-before.TotalAlloc)
	}
}
