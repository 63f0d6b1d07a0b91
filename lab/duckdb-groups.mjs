// A table of 20 million rows in 50 groups, and DuckDB's sum, count, mean, variance and histogram of it by group: what one
// run with those five releases is measured against.
//
//	node duckdb-groups.mjs make FILE [ROWS]
//	node duckdb-groups.mjs FILE [RUNS] [THREADS]
import { DuckDBInstance } from '@duckdb/node-api';

const text = (s) => `'${s.replaceAll("'", "''")}'`;
const args = process.argv.slice(2);
const make = args[0] === 'make';
const path = args[make ? 1 : 0];
if (!path) {
  console.error('usage: node duckdb-groups.mjs make FILE [ROWS] | node duckdb-groups.mjs FILE [RUNS] [THREADS]');
  process.exit(2);
}
const db = await DuckDBInstance.create(':memory:', { threads: args[2] && !make ? args[2] : '2' });
const connection = await db.connect();
if (make) {
  await connection.run('SELECT setseed(0.5)');
  await connection.run(`COPY (SELECT 'g' || lpad((floor(random() * 50))::int::varchar, 2, '0') AS g, random() * 200 AS x
    FROM range(${Number(args[2] ?? 20_000_000)})) TO ${text(path)} (FORMAT parquet, COMPRESSION snappy, ROW_GROUP_SIZE 1000000)`);
} else {
  const query = `SELECT g, sum(x), count(*), avg(x), var_pop(x), histogram(x, [i * 2.0 FOR i IN range(1, 101)])
    FROM read_parquet(${text(path)}) GROUP BY g`;
  const times = [];
  for (let i = 0; i < Number(args[1] ?? 5); i++) {
    const start = process.hrtime.bigint();
    const cpu = process.cpuUsage();
    await connection.runAndReadAll(query);
    const { user, system } = process.cpuUsage(cpu);
    times.push({ wall_ms: Number(process.hrtime.bigint() - start) / 1e6, cpu_ms: (user + system) / 1e3 });
  }
  times.sort((a, b) => a.cpu_ms - b.cpu_ms);
  console.log(JSON.stringify({ peer: 'duckdb', best: times[0], median: times[times.length >> 1], runs: times.length }));
}
