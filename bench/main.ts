/**
 * `npm run bench -- <name> [--json] [--quick] [--only <part>]`. A table on standard output, or with `--json` one object and
 * nothing else there; progress goes to standard error. `--only` runs one part of a benchmark that has parts: `context --only
 * replay|recall|conversations|continuity`. Exit 0 when it ran (also where a target is missed: the rows show it), 2 for an unknown name or
 * option.
 */
import { parseArgs } from "node:util";
import { type Benchmark, formatTable, machine } from "./report.ts";

const BENCHMARKS: Record<string, () => Promise<Benchmark>> = {
  tokens: () => import("./tokens/bench.ts"),
  turn: () => import("./turn/bench.ts"),
  compaction: () => import("./compaction/bench.ts"),
  context: () => import("./context/bench.ts"),
  lossless: () => import("./lossless/bench.ts"),
  codex: () => import("./codex/bench.ts"),
  runtimes: () => import("./runtimes/bench.ts"),
  wire: () => import("./wire/bench.ts"),
  serve: () => import("./serve/bench.ts"),
  inspector: () => import("./inspector/bench.ts"),
  hosts: () => import("./hosts/bench.ts"),
  channels: () => import("./channels/bench.ts"),
  authority: () => import("./authority/bench.ts"),
  terminal: () => import("./terminal/bench.ts"),
  start: () => import("./start/bench.ts"),
  inside: () => import("./inside/bench.ts"),
  keep: () => import("./keep/bench.ts"),
};

function refuse(sentence: string): void {
  process.stderr.write(`${sentence} Usage: npm run bench -- <name> [--json] [--quick] [--only <part>].\n`);
  process.exitCode = 2;
}

async function main(args: readonly string[]): Promise<void> {
  const names = Object.keys(BENCHMARKS).join(", ");
  let parsed;
  try {
    parsed = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        json: { type: "boolean", default: false },
        quick: { type: "boolean", default: false },
        only: { type: "string" },
      },
    });
  } catch (error) {
    return refuse(error instanceof Error ? error.message.replace(/\.?$/, ".") : String(error));
  }
  const [name, ...more] = parsed.positionals;
  const load = name !== undefined && Object.hasOwn(BENCHMARKS, name) ? BENCHMARKS[name] : undefined;
  if (load === undefined || more.length > 0) {
    const asked = parsed.positionals.join(" ");
    return refuse(
      asked === "" ? `Name a benchmark: ${names}.` : `No benchmark is called "${asked}"; there is: ${names}.`,
    );
  }
  const { json, quick, only } = parsed.values;
  const { run, parts = [] } = await load();
  if (only !== undefined && !parts.includes(only)) {
    const known = parts.length === 0 ? "it has no parts" : `there is: ${parts.join(", ")}`;
    return refuse(`The benchmark ${name} has no part "${only}"; ${known}.`);
  }
  const log = (line: string): void => void process.stderr.write(`${line}\n`);
  const rows = await run({ quick, log, ...(only === undefined ? {} : { only }) });
  const output = json ? JSON.stringify({ name, machine: machine(), rows }) : formatTable(rows);
  process.stdout.write(`${output}\n`);
}

await main(process.argv.slice(2));
