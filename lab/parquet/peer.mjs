// Reads a Parquet file with DuckDB and writes it again, in the encodings that DuckDB chooses for the second version of the format.
import { DuckDBInstance } from '@duckdb/node-api';

const [source, target] = process.argv.slice(2).map((path) => `'${path.replaceAll("'", "''")}'`);
const db = await DuckDBInstance.create(':memory:');
const connection = await db.connect();
await connection.run(`COPY (FROM read_parquet(${source})) TO ${target} (FORMAT parquet, PARQUET_VERSION V2, DICTIONARY_SIZE_LIMIT 1)`);
