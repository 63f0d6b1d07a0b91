// DuckDB's avg of one column of a Parquet or CSV file, by wall and by processor time: what reading through dprelease is measured against.
//
//	node duckdb-avg.mjs FILE COLUMN [RUNS] [THREADS] [UNIT]
//
// With the name of a unit column: the average of the sums of its units.
import { DuckDBInstance } from '@duckdb/node-api';

const [path, column, runs = '9', threads = '1', unit] = process.argv.slice(2);
if (!path || !column) {
  console.error('usage: node duckdb-avg.mjs FILE COLUMN [RUNS] [THREADS] [UNIT]');
  process.exit(2);
}
const text = (s) => `'${s.replaceAll("'", "''")}'`;
const name = (s) => `"${s.replaceAll('"', '""')}"`;
const file = `${path.endsWith('.parquet') ? 'read_parquet' : 'read_csv'}(${text(path)})`;
const db = await DuckDBInstance.create(':memory:', { threads });
const connection = await db.connect();
await connection.run(`SET threads = ${Number(threads)}`);
const query = unit
  ? `SELECT avg(s), count(*) FROM (SELECT sum(${name(column)}) s FROM ${file} GROUP BY ${name(unit)})`
  : `SELECT avg(${name(column)}), count(*) FROM ${file}`;
const times = [], work = [];
let mean, rows;
for (let i = 0; i < Number(runs); i++) {
  const used = process.cpuUsage();
  const start = process.hrtime.bigint();
  const result = await connection.runAndReadAll(query);
  times.push(Number(process.hrtime.bigint() - start));
  const { user, system } = process.cpuUsage(used);
  work.push((user + system) / 1e3);
  [mean, rows] = result.getRows()[0];
}
const first = times[0];
times.sort((a, b) => a - b);
work.sort((a, b) => a - b);
const perRow = (t) => Number((t / Number(rows)).toFixed(3));
console.log(JSON.stringify({
  peer: 'duckdb', threads: Number(threads), rows: Number(rows), mean,
  best_ns_per_row: perRow(times[0]), median_ns_per_row: perRow(times[times.length >> 1]),
  median_ms: Number((times[times.length >> 1] / 1e6).toFixed(1)), median_work_ms: Number(work[work.length >> 1].toFixed(1)),
  first_ns_per_row: perRow(first), runs: times.length,
}));
