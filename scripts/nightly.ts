/**
 * `npm run nightly [-- --list]`: every figure that a quiet machine measures, one after the other: benchmarks, pairs with earlier commits, the
 * house. CI runs only their short forms, as figures of a busy machine say nothing. Ends with 1 where one misses its target.
 */
import { parseArgs } from "node:util";
import { ROOT, runCommand } from "./command.ts";
import { PROOFS } from "./prove-lines.ts";

/** Scripts that measure, without those that run tests or look for newer programs. */
const MEASURING = [
  "scripts/prove-bench.ts",
  "scripts/bench-pairs.ts",
  "scripts/prove-one-shot.ts",
  "scripts/prove-idle-jobs.ts",
  "scripts/house-pair.ts",
  "scripts/house-table.ts",
  "scripts/prove-waits.ts",
];

/** Each step once, with the lines of `npm run prove` that have it. */
function figureSteps(): Map<string, { args: string[]; lines: string[] }> {
  const found = new Map<string, { args: string[]; lines: string[] }>();
  for (const [line, { steps }] of Object.entries(PROOFS))
    for (const { args } of steps) {
      if (!MEASURING.some((script) => args.includes(script))) continue;
      const known = found.get(args.join(" "));
      if (known) known.lines.push(line);
      else found.set(args.join(" "), { args, lines: [line] });
    }
  return found;
}

const { values } = parseArgs({ options: { list: { type: "boolean", default: false } } });
const failed: string[] = [];
for (const [name, { args, lines }] of figureSteps()) {
  console.log(`== node ${name} (${lines.join(", ")})`);
  if (values.list) continue;
  const env = { ...process.env, PAGURUS_PROVE: "1" };
  const { code } = await runCommand(process.execPath, args, { cwd: ROOT, env, output: "inherit" });
  if (code !== 0) failed.push(name);
}
if (failed.length > 0) console.log(`FAIL: ${failed.join(", ")}`);
process.exitCode = failed.length === 0 ? 0 : 1;
