# Makes pyarrow-*.parquet with pyarrow 26.0.1: the rows that writers_test.go names, in the encodings that its writer does not
# choose by itself. Run it in this folder.
import pyarrow as pa
import pyarrow.parquet as pq

n = 1000
t = pa.table({
    "id": pa.array(range(n), pa.int32()),
    "x": pa.array([i * 37 % 1000 / 8 for i in range(n)], pa.float64()),
    "y": pa.array([None if i % 7 == 0 else i - 500 for i in range(n)], pa.int64()),
    "name": pa.array([None if i % 11 == 0 else ["alpha", "beta", "gamma", ""][i % 4] for i in range(n)]),
    "flag": pa.array([i % 3 == 0 for i in range(n)]),
    "code": pa.array([f"code-{i}" for i in range(n)]),
})
encodings = {
    "id": "DELTA_BINARY_PACKED", "x": "BYTE_STREAM_SPLIT", "y": "DELTA_BINARY_PACKED", "name": "DELTA_LENGTH_BYTE_ARRAY",
    "flag": "RLE", "code": "DELTA_BYTE_ARRAY",
}
for version, codec in ("1.0", "NONE"), ("2.0", "ZSTD"), ("2.0", "BROTLI"), ("1.0", "LZ4"), ("2.0", "GZIP"):
    pq.write_table(t, f"pyarrow-delta-v{version[0]}-{codec.lower()}.parquet", use_dictionary=False, column_encoding=encodings,
                   compression=codec, data_page_version=version, data_page_size=2000, row_group_size=600, write_page_checksum=version == "2.0")
