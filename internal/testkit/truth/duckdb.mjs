// Answers one query a line with one line of JSON: {"rows": [{column: value}]} or {"error": text}.
import { createInterface } from 'node:readline';
import { DuckDBInstance } from '@duckdb/node-api';

const db = await DuckDBInstance.create(':memory:', { threads: '2' });
const connection = await db.connect();
for await (const line of createInterface({ input: process.stdin })) {
  try {
    const reader = await connection.runAndReadAll(JSON.parse(line));
    console.log(JSON.stringify({ rows: reader.getRowObjectsJson() }));
  } catch (e) {
    console.log(JSON.stringify({ error: String(e.message) }));
  }
}
