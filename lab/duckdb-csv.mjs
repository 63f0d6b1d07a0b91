// Writes a Parquet file as CSV, with DuckDB: the table for what reading CSV costs.
//
//	node duckdb-csv.mjs FROM.parquet TO.csv
import { DuckDBInstance } from '@duckdb/node-api';

const [from, to] = process.argv.slice(2);
if (!from || !to) {
  console.error('usage: node duckdb-csv.mjs FROM.parquet TO.csv');
  process.exit(2);
}
const text = (s) => `'${s.replaceAll("'", "''")}'`;
const connection = await (await DuckDBInstance.create(':memory:')).connect();
await connection.run(`COPY (FROM read_parquet(${text(from)})) TO ${text(to)} (HEADER)`);
