/**
 * `npm run prove -- bytes.5 [--pairs N] [--json FILE]`: a one-shot `pagurus run` with each model protocol, installed from
 * `npm pack` in an empty folder: the commit before the loop wrote its protocols itself, and this checkout, in turns. Ends with 1
 * unless each protocol needs at least 25 % less CPU, less memory, and the installation is smaller.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { oneShot } from "../bench/turn/one-shot.ts";
import { makePlace } from "../bench/turn/place.ts";
import { startServer, type Protocol } from "../test/servers/server.ts";
import { ROOT } from "./command.ts";
import { installPackage } from "./installed-package.ts";
import { BEFORE_OWN_PROTOCOLS, withOldCheckout } from "./old-checkout.ts";
import { comparePairs, type Comparison, type Sample } from "./pairs.ts";

/** Most of the CPU time before that a call may need. */
const MOST_CPU = 0.75;

const APIS: Readonly<Record<Protocol, string>> = {
  "openai-responses": "openai-responses",
  "openai-completions": "openai-completions",
  "anthropic-messages": "anthropic-messages",
  google: "google-generative-ai",
};

/** Figures of one answer: over the network in a protocol, or by the offline model. */
async function answerSamples(launcher: string, protocol: Protocol | undefined): Promise<Sample[]> {
  const server = await startServer({
    protocol: protocol ?? "google",
    script: () => ({ text: "The tide is in." }),
  });
  const place = makePlace(server.url);
  try {
    const model = { id: "model", contextWindow: 64_000, maxTokens: 4_000 };
    const api = APIS[protocol ?? "google"];
    const provider = { api, baseUrl: server.url, apiKey: "key", models: [model] };
    const ref = protocol === undefined ? "offline/extract" : "bench/model";
    const config = { models: { providers: { bench: provider } }, agents: { defaults: { model: ref } } };
    writeFileSync(join(place.home, "pagurus.json"), JSON.stringify(config));
    const run = await oneShot(launcher, place, ["run", "--session", "one", "Hello"]);
    if (run.code !== 0) throw new Error(`pagurus run (${ref}, ${api}) ended with code ${run.code}.`);
    const name = protocol ?? "offline";
    return [
      { measure: `${name}: CPU`, value: run.userCpuS + run.systemCpuS, unit: "s", better: "less" },
      { measure: `${name}: peak memory`, value: run.peakMb, unit: "MB", better: "less" },
      { measure: `${name}: wall time`, value: run.wallMs, unit: "ms", better: "neither" },
    ];
  } finally {
    place.remove();
    await server.close();
  }
}

async function samples(launcher: string): Promise<Sample[]> {
  const all: Sample[] = await answerSamples(launcher, undefined);
  for (const protocol of Object.keys(APIS) as Protocol[])
    all.push(...(await answerSamples(launcher, protocol)));
  return all;
}

/** Old and new in turns; each is first in every second pair. The first run of each fills the caches of the disk. */
async function measured(old: string, now: string, pairs: number): Promise<Comparison[]> {
  const before: Sample[][] = [];
  const after: Sample[][] = [];
  await samples(old);
  await samples(now);
  for (let pair = 0; pair < pairs; pair += 1) {
    if (pair % 2 === 1) after.push(await samples(now));
    before.push(await samples(old));
    if (pair % 2 === 0) after.push(await samples(now));
  }
  return comparePairs(before, after);
}

function rowOf({ measure, before, after, unit, noise, worsePairs, pairs }: Comparison): string {
  const figure = (value: number): string => value.toPrecision(3).padStart(8);
  const change = `${((after / before - 1) * 100).toFixed(0)} %`.padStart(7);
  return `${measure.padEnd(36)} ${figure(before)} ${figure(after)} ${unit.padEnd(3)} ${change}  ±${noise.toPrecision(2)}  ${worsePairs} of ${pairs} worse`;
}

/** One sentence for each figure that falls short. */
function shortfalls(rows: readonly Comparison[]): string[] {
  return rows.flatMap(({ measure, before, after, worse }) => {
    if (worse) return [`${measure} is worse than before`];
    const isCall = measure.endsWith(": CPU") && !measure.startsWith("offline");
    if (isCall && after > MOST_CPU * before) return [`${measure} is not ${100 - MOST_CPU * 100} % less`];
    return measure.startsWith("installed") && after >= before ? [`${measure} is not smaller`] : [];
  });
}

const { values } = parseArgs({ options: { pairs: { type: "string" }, json: { type: "string" } } });
const folder = mkdtempSync(join(tmpdir(), "pagurus-one-shot-"));
try {
  const rows = await withOldCheckout(BEFORE_OWN_PROTOCOLS, async (root) => {
    const old = await installPackage(root, join(folder, "old"));
    const now = await installPackage(ROOT, join(folder, "new"));
    const size = (value: number): Sample[] => [{ measure: "installed", value, unit: "MB", better: "less" }];
    const installed = comparePairs([size(old.megabytes)], [size(now.megabytes)]);
    return [...installed, ...(await measured(old.launcher, now.launcher, Number(values.pairs ?? 10)))];
  });
  for (const row of rows) console.log(rowOf(row));
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(rows, undefined, 2)}\n`);
  const short = shortfalls(rows);
  for (const sentence of short) console.log(`FAIL ${sentence}`);
  process.exitCode = short.length === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
