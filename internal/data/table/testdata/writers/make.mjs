// Makes the files of other writers that are read in writers_test.go. All hold the same table, whose values follow from
// the row number; see rowValues there.
//
//	npm install --no-save @duckdb/node-api@1.5.6-r.1 hyparquet-writer parquet-wasm apache-arrow nodejs-polars
//	node make.mjs
import { writeFileSync } from 'node:fs';
import { DuckDBInstance } from '@duckdb/node-api';
import { parquetWriteBuffer } from 'hyparquet-writer';
import * as arrow from 'apache-arrow';
import * as wasm from 'parquet-wasm';
import pl from 'nodejs-polars';

const n = 1000;
const names = ['alpha', 'beta', 'gamma', ''];
const rows = Array.from({ length: n }, (_, i) => i);
const id = rows;
const x = rows.map((i) => ((i * 37) % 1000) / 8);
const y = rows.map((i) => (i % 7 === 0 ? null : i - 500));
const name = rows.map((i) => (i % 11 === 0 ? null : names[i % 4]));
const flag = rows.map((i) => i % 3 === 0);
const code = rows.map((i) => `code-${i}`);

// DuckDB: every codec, both page versions, nested columns, decimals, dates and timestamps.
const db = await DuckDBInstance.create(':memory:');
const c = await db.connect();
await c.run(`CREATE TABLE t AS SELECT i::BIGINT AS id, ((i * 37) % 1000) / 8.0::DOUBLE AS x,
  CASE WHEN i % 7 = 0 THEN NULL ELSE (i - 500)::INTEGER END AS y,
  CASE WHEN i % 11 = 0 THEN NULL ELSE ['alpha', 'beta', 'gamma', ''][i % 4 + 1] END AS name,
  [i, i + 1] AS tags, {'a': i, 'b': i::VARCHAR} AS pair,
  i % 3 = 0 AS flag, 'code-' || i AS code, (i / 8)::DECIMAL(12, 3) AS dec, (i * 1000)::DECIMAL(30, 2) AS wide,
  DATE '2000-01-01' + i::INTEGER AS day, make_timestamp(1000000000000000 + i * 1000000) AS stamp,
  (i % 200)::UTINYINT AS tiny, ((i * 37) % 1000)::FLOAT AS single, (i * 3)::USMALLINT AS small
  FROM range(${n}) r(i)`);
for (const codec of ['uncompressed', 'snappy', 'gzip', 'zstd', 'brotli', 'lz4_raw']) {
  await c.run(`COPY t TO 'duckdb-${codec}.parquet' (FORMAT parquet, COMPRESSION ${codec}, ROW_GROUP_SIZE 512)`);
}
await c.run(`COPY t TO 'duckdb-v2.parquet' (FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION V2)`);
await c.run(`COPY (SELECT * FROM t ORDER BY id) TO 'duckdb-v2-nodict.parquet' (FORMAT parquet, PARQUET_VERSION V2, DICTIONARY_SIZE_LIMIT 1)`);

// hyparquet-writer
writeFileSync('hyparquet.parquet', Buffer.from(parquetWriteBuffer({
  columnData: [
    { name: 'id', data: id.map(BigInt), type: 'INT64' },
    { name: 'x', data: x, type: 'DOUBLE' },
    { name: 'y', data: y, type: 'INT32', nullable: true },
    { name: 'name', data: name, type: 'STRING', nullable: true },
    { name: 'flag', data: flag, type: 'BOOLEAN' },
    { name: 'code', data: code, type: 'STRING' },
  ],
  rowGroupSize: 300,
})));

// Arrow JavaScript, and arrow-rs through parquet-wasm
const table = new arrow.Table({
  id: arrow.vectorFromArray(id.map(BigInt), new arrow.Int64()),
  x: arrow.vectorFromArray(x, new arrow.Float64()),
  y: arrow.vectorFromArray(y, new arrow.Int32()),
  name: arrow.vectorFromArray(name, new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32())),
  tags: arrow.vectorFromArray(rows.map((i) => [i, i + 1]), new arrow.List(new arrow.Field('item', new arrow.Int32()))),
  flag: arrow.vectorFromArray(flag, new arrow.Bool()),
  code: arrow.vectorFromArray(code, new arrow.Utf8()),
});
writeFileSync('arrowjs.arrow', arrow.tableToIPC(table, 'file'));
writeFileSync('arrowjs.arrows', arrow.tableToIPC(table, 'stream'));
const rs = () => wasm.Table.fromIPCStream(arrow.tableToIPC(table, 'stream'));
const styles = {
  'arrowrs-v1-snappy': (b) => b.setCompression(wasm.Compression.SNAPPY),
  'arrowrs-v2-zstd': (b) => b.setCompression(wasm.Compression.ZSTD).setWriterVersion(wasm.WriterVersion.V2),
  'arrowrs-v2-nodict': (b) => b.setDictionaryEnabled(false).setWriterVersion(wasm.WriterVersion.V2).setMaxRowGroupSize(400),
  'arrowrs-pages': (b) => b.setDataPageSizeLimit(500).setWriteBatchSize(50).setCompression(wasm.Compression.LZ4_RAW),
};
for (const [file, style] of Object.entries(styles)) {
  writeFileSync(`${file}.parquet`, wasm.writeParquet(rs(), style(new wasm.WriterPropertiesBuilder()).build()));
}

// Polars
const df = pl.DataFrame({
  id: pl.Series('id', id, pl.Int64), x: pl.Series('x', x, pl.Float64), y: pl.Series('y', y, pl.Int32),
  name: pl.Series('name', name, pl.Utf8), flag: pl.Series('flag', flag, pl.Bool), code: pl.Series('code', code, pl.Utf8),
});
for (const codec of ['snappy', 'zstd', 'lz4']) {
  try {
    df.writeParquet(`polars-${codec}.parquet`, { compression: codec });
  } catch (e) {
    console.error('polars', codec, String(e));
  }
}
for (const codec of ['uncompressed', 'lz4', 'zstd']) {
  df.writeIPC(`polars-${codec}.arrow`, { compression: codec });
}
