// Tables of persons and of their visits, ten for each person in no order, and DuckDB's sums of the costs of visits by the 50
// groups that persons lie in: what a run that joins two private tables is measured against.
//
//	node duckdb-joined.mjs make DIR [PERSONS]
//	node duckdb-joined.mjs DIR [RUNS] [THREADS] [plain | folded | capped]
//
// Folded are the sums of what each person cost, at most 2,000; capped those of at most 20 visits of each person, chosen at
// random. Plain bounds no person.
import { DuckDBInstance } from '@duckdb/node-api';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

const text = (s) => `'${s.replaceAll("'", "''")}'`;
const args = process.argv.slice(2);
const make = args[0] === 'make';
const dir = args[make ? 1 : 0];
if (!dir) {
  console.error('usage: node duckdb-joined.mjs make DIR [PERSONS] | node duckdb-joined.mjs DIR [RUNS] [THREADS] [plain | folded | capped]');
  process.exit(2);
}
const persons = text(join(dir, 'persons.parquet'));
const visits = text(join(dir, 'visits.parquet'));
const db = await DuckDBInstance.create(':memory:', { threads: args[2] && !make ? args[2] : '2' });
const connection = await db.connect();
if (make) {
  const n = Number(args[2] ?? 2_000_000);
  mkdirSync(dir, { recursive: true });
  const write = (query, path) => connection.run(`COPY (${query}) TO ${path} (FORMAT parquet, COMPRESSION snappy, ROW_GROUP_SIZE 1000000)`);
  // A multiplier without a common divisor visits each person once, in no order.
  await write(`SELECT (i * 1000003 + 17) % ${n} AS person, 'g' || lpad((hash(i) % 50)::varchar, 2, '0') AS g FROM range(${n}) r(i)`, persons);
  await write(`SELECT (hash(i, 1) % ${n})::bigint AS person, (hash(i, 2) % 20000) / 100.0::double AS cost FROM range(${10 * n}) r(i)`, visits);
} else {
  const all = `read_parquet(${visits})`;
  const rows = {
    plain: all,
    folded: `(SELECT person, least(sum(cost), 2000) AS cost FROM ${all} GROUP BY person)`,
    capped: `(SELECT person, cost FROM ${all} QUALIFY row_number() OVER (PARTITION BY person ORDER BY random()) <= 20)`,
  }[args[3] ?? 'plain'];
  const query = `SELECT g, sum(cost) FROM ${rows} JOIN read_parquet(${persons}) USING (person) GROUP BY g`;
  const times = [];
  for (let i = 0; i < Number(args[1] ?? 5); i++) {
    const start = process.hrtime.bigint();
    const cpu = process.cpuUsage();
    await connection.runAndReadAll(query);
    const { user, system } = process.cpuUsage(cpu);
    times.push({ wall_ms: Number(process.hrtime.bigint() - start) / 1e6, cpu_ms: (user + system) / 1e3 });
  }
  times.sort((a, b) => a.cpu_ms - b.cpu_ms);
  const [group, sum] = (await connection.runAndReadAll(query)).getRows()[0];
  console.log(JSON.stringify({ peer: 'duckdb', best: times[0], median: times[times.length >> 1], runs: times.length, group, sum }));
}
