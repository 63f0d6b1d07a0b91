package table

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/float16"
	"github.com/pierrec/lz4/v4"

	"github.com/dprelease/dprelease/internal/data/table/pagewalk"
	"github.com/dprelease/dprelease/internal/testkit/parquet"
)

// TestIndicesOfEveryWidth packs random values by the definition of the format and reads them back.
func TestIndicesOfEveryWidth(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for width := 0; width <= 31; width++ {
		for _, n := range []int{1, 7, 8, 9, 64, 100, 1000} {
			want := make([]int32, n)
			for i := range want {
				want[i] = int32(r.Uint64N(1 << width))
			}
			b := []byte{byte(width)}
			at := 0
			for at < n {
				if r.IntN(2) == 0 { // a run of one value
					k := 1 + r.IntN(n-at)
					for i := range k {
						want[at+i] = want[at]
					}
					b = binary.AppendUvarint(b, uint64(k)<<1)
					for i := range (width + 7) / 8 {
						b = append(b, byte(want[at]>>(8*i)))
					}
					at += k
					continue
				}
				groups := (n - at + 7) / 8
				if groups > 1 && r.IntN(2) == 0 {
					groups = 1 + r.IntN(groups-1)
				}
				b = binary.AppendUvarint(b, uint64(groups)<<1|1)
				packed := make([]byte, groups*width)
				for i := range min(8*groups, n-at) {
					for k := range width {
						bit := i*width + k
						packed[bit/8] |= byte(want[at+i]>>k&1) << (bit % 8)
					}
				}
				b = append(b, packed...)
				at += min(8*groups, n-at)
			}
			got := make([]int32, n)
			if err := decodeIndices(b, got, 1<<width); err != nil {
				t.Fatalf("width %d, %d values: %v", width, n, err)
			}
			for i := range got {
				if got[i] != want[i] {
					t.Fatalf("width %d, %d values: value %d is %d, not %d", width, n, i, got[i], want[i])
				}
			}
			if width > 0 {
				top := int32(0)
				for _, v := range want {
					top = max(top, v)
				}
				if decodeIndices(b, got, int(top)) == nil {
					t.Fatalf("width %d: an index outside the dictionary was accepted", width)
				}
			}
			if decodeIndices(append(b, 2), got, 1<<width) == nil {
				t.Fatalf("width %d: bytes after the last run were accepted", width)
			}
		}
	}
}

func TestRarerTypes(t *testing.T) {
	opt := parquet.Repetitions.Optional
	n := 500
	r := rand.New(rand.NewPCG(6, 6))
	half, whalf := make([]parquet.FixedLenByteArray, n), make([]float64, n)
	wide, wwide := make([]parquet.FixedLenByteArray, n), make([]float64, n)
	blob, wblob := make([]parquet.ByteArray, n), make([]int64, n)
	u64, wu64 := make([]int64, n), make([]int64, n)
	d32, wd32 := make([]int32, n), make([]int64, n)
	valid := make([]bool, n)
	for i := range n {
		f := float16.New(float32(r.NormFloat64()))
		half[i], whalf[i] = parquet.FixedLenByteArray(binary.LittleEndian.AppendUint16(nil, f.Uint16())), float64(f.Float32())
		x := new(big.Int).Lsh(big.NewInt(r.Int64()-1<<62), 40)
		wide[i] = twosComplement(x, 16)
		wwide[i], _ = new(big.Rat).SetFrac(x, tenTo(10)).Float64()
		wblob[i] = r.Int64N(1<<50) - 1<<49
		blob[i] = parquet.ByteArray(bigEndian(wblob[i], 7+i%5))
		u64[i] = int64(r.Uint64())
		wu64[i] = u64[i]
		wd32[i] = r.Int64N(2e9) - 1e9
		d32[i] = int32(wd32[i])
		valid[i] = i%9 != 0
	}
	logical := func(name string, l parquet.Annotation, typ parquet.Type, size int) parquet.Node {
		return parquet.NewNode(name, opt, l, typ, size)
	}
	T := parquet.Types
	cols := []genColumn{
		{node: logical("half", parquet.Float16LogicalType, T.FixedLenByteArray, 2), values: half, valid: valid},
		{node: logical("wide", parquet.NewDecimalLogicalType(38, 10), T.FixedLenByteArray, 16), values: wide, valid: valid},
		{node: logical("blob", parquet.NewDecimalLogicalType(18, 3), T.ByteArray, -1), values: blob, valid: valid},
		{node: logical("blobdelta", parquet.NewDecimalLogicalType(18, 3), T.ByteArray, -1), values: blob, valid: valid, encoding: parquet.Encodings.DeltaLengthByteArray},
		{node: logical("u64", parquet.NewIntLogicalType(64, false), T.Int64, -1), values: u64, valid: valid},
		{node: logical("d32", parquet.NewDecimalLogicalType(9, 2), T.Int32, -1), values: d32, valid: valid},
		{node: logical("uuid", parquet.UUIDLogicalType, T.FixedLenByteArray, 16), values: wide, valid: valid},
	}
	want := []wantColumn{
		{name: "half", f64: whalf, valid: valid}, {name: "wide", f64: wwide, valid: valid}, {name: "blob", i64: wblob, valid: valid},
		{name: "blobdelta", i64: wblob, valid: valid}, {name: "u64", i64: wu64, valid: valid}, {name: "d32", i64: wd32, valid: valid},
	}
	for _, dict := range []bool{false, true} {
		path := temp(t, "x.parquet", writeParquet(t, style{dict: dict, pageSize: 500, groups: []int{n}}, cols))
		checkScan(t, path, want, n)
		tab := must(Open(t.Context(), Spec{Path: path}))
		c := tab.Columns()
		tab.Close()
		if !c[1].Approximate || c[1].Scale != 10 || c[2].Approximate || c[2].Kind != Decimal || !c[4].Unsigned || c[6].Usable {
			t.Errorf("%+v", c)
		}
	}
}

func twosComplement(x *big.Int, n int) []byte {
	if x.Sign() < 0 {
		x = new(big.Int).Add(x, new(big.Int).Lsh(big.NewInt(1), uint(8*n)))
	}
	return x.FillBytes(make([]byte, n))
}

// TestHadoopLZ4 reads the deprecated codec in both forms it was written in.
func TestHadoopLZ4(t *testing.T) {
	want := []byte(fmt.Sprint(integers(200)))
	block := func(b []byte) []byte {
		out := make([]byte, lz4.CompressBlockBound(len(b)))
		n := must(lz4.CompressBlock(b, out, nil))
		return out[:n]
	}
	frame := func(b []byte) []byte {
		c := block(b)
		return append(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(len(b))), uint32(len(c))), c...)
	}
	u := unpacker{}
	for name, src := range map[string][]byte{
		"bare": block(want), "one frame": frame(want), "two frames": append(frame(want[:300]), frame(want[300:])...),
	} {
		dst := make([]byte, len(want))
		if err := u.unpack(pagewalk.LZ4Hadoop, dst, src); err != nil || string(dst) != string(want) {
			t.Errorf("%s: %v", name, err)
		}
		if u.unpack(pagewalk.LZ4Hadoop, dst[:len(dst)-1], src) == nil || u.unpack(pagewalk.LZ4Hadoop, dst, src[:len(src)-1]) == nil {
			t.Errorf("%s: another size was accepted", name)
		}
	}
}

func TestTimestampsOutsideTheirTypeAreRefused(t *testing.T) {
	if v, err := int96Micros(julianEpoch, 1999); v != 1 || err != nil {
		t.Error(v, err)
	}
	if v, err := int96Micros(julianEpoch-1, 0); v != -dayMicros || err != nil {
		t.Error(v, err)
	}
	for _, c := range [][2]int64{{math.MaxInt32, 0}, {math.MinInt32, 0}, {julianEpoch, -1}, {julianEpoch, dayMicros * 1000}} {
		if _, err := int96Micros(c[0], c[1]); err == nil {
			t.Errorf("%v was accepted", c)
		}
	}
}
