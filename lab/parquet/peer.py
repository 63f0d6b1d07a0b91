"""Reads a Parquet file with pyarrow and writes it again, each column in the encoding that its name ends with."""
import sys

import pyarrow.parquet as pq

source, target = sys.argv[1:]
table = pq.read_table(source)
known = ["DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"]
encodings = {name: e for name in table.column_names for e in known if name.endswith(" " + e)}
pq.write_table(table, target, use_dictionary=False, column_encoding=encodings, compression="zstd", data_page_version="2.0", data_page_size=5000)
