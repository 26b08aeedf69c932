/**
 * `node scripts/prove-bench.ts NAME [--only PART]`: runs a benchmark, or one part of it, in full length and fails when
 * a row misses its target.
 */
import { formatTable, type BenchRow } from "../bench/report.ts";
import { runCommand } from "./command.ts";

const [name, ...more] = process.argv.slice(2);
if (name === undefined) throw new Error("Name a benchmark, as in `node scripts/prove-bench.ts turn`.");
const result = await runCommand(process.execPath, ["bench/main.ts", name, ...more, "--json"]);
process.stderr.write(result.stderr);
if (result.code === 0) {
  const { rows } = JSON.parse(result.stdout) as { rows: BenchRow[] };
  console.log(formatTable(rows));
  const missed = rows.filter((row) => row.ok === false);
  for (const row of missed)
    console.log(`missed: ${row.measure} is ${row.value} ${row.unit}, target ${row.target}`);
  if (!rows.some((row) => row.ok)) console.log("No row has a target that it meets.");
  process.exitCode = missed.length === 0 && rows.some((row) => row.ok) ? 0 : 1;
} else {
  process.stdout.write(result.stdout);
  process.exitCode = result.code;
}
