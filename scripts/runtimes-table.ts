/**
 * The tables of docs/runtimes.md, made from what the bundled runtimes declare. Source of the questions: agent runtimes,
 * "Compatibility contract". `node scripts/runtimes-table.ts --check | --write`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { HostCapability } from "../packages/contract/src/engine/engine.ts";
import type { AgentHarness } from "../packages/contract/src/harness/harness.ts";
import { registerBundled } from "../packages/app/src/bundled.ts";
import { configFromValue } from "../packages/core/src/config/load-config.ts";
import { silentLogger } from "../packages/core/src/platform/log.ts";
import { PluginRegistry } from "../packages/host/src/plugin/registry.ts";
import { ROOT } from "./command.ts";
import { markdownTable } from "./markdown-table.ts";

const FILE = "docs/runtimes.md";
const BEGIN = "<!-- runtimes:begin -->";
const END = "<!-- runtimes:end -->";

/** Every capability; a missing one does not compile. */
const CAPABILITIES = Object.keys({
  bootstrap: 0,
  "assemble-before-prompt": 0,
  "after-turn": 0,
  maintain: 0,
  compact: 0,
  "runtime-llm-complete": 0,
  "thread-bootstrap-projection": 0,
} satisfies Record<HostCapability, 0>) as HostCapability[];

/** The bundled runtimes, as the host registers them; none is started. */
async function bundledHarnesses(): Promise<readonly AgentHarness[]> {
  const llmComplete = (): Promise<never> => Promise.reject(new Error("A table calls no model."));
  const loaded = configFromValue({}, "");
  const registry = new PluginRegistry({ config: {}, logger: silentLogger, baseDir: "", llmComplete });
  await registerBundled(registry, { loaded, home: "", env: {}, logger: silentLogger });
  return registry.harnesses;
}

function lifecycle({ capabilities }: AgentHarness): string {
  const missing = CAPABILITIES.filter((capability) => !capabilities.includes(capability));
  return missing.length === 0 ? "Yes, all of it." : `Yes, without ${missing.join(", ")}.`;
}

function executionOf({ execution }: AgentHarness): string {
  return execution.detail === undefined ? execution.kind : `${execution.kind} (${execution.detail})`;
}

type Row = readonly [question: string, answer: (harness: AgentHarness) => string];

const CONTRACT: readonly Row[] = [
  ["Execution", executionOf],
  ["Seam", ({ seam }) => `\`${seam}\``],
  ["Who owns the model loop?", ({ surfaces }) => surfaces?.modelLoop ?? ""],
  ["Who owns canonical thread history?", ({ surfaces }) => surfaces?.threadHistory ?? ""],
  ["Do tools of the host work?", ({ surfaces }) => surfaces?.hostTools ?? ""],
  ["Do their hooks work?", ({ surfaces }) => surfaces?.hostToolHooks ?? ""],
  ["Do hooks work for native tools?", ({ surfaces }) => surfaces?.nativeToolHooks ?? ""],
  ["Does the context engine's lifecycle run?", lifecycle],
  ["What compaction data is exposed?", ({ surfaces }) => surfaces?.compactionData ?? ""],
  [
    "What is unsupported on purpose?",
    ({ surfaces }) => (surfaces?.unsupported ?? []).join(" ") || "Nothing.",
  ],
];

async function generated(): Promise<string> {
  const all = await bundledHarnesses();
  const ids = all.map(({ id }) => `\`${id}\``);
  const contract = markdownTable(
    ["", ...ids],
    CONTRACT.map(([question, answer]) => [question, ...all.map((harness) => answer(harness))]),
  );
  const capabilities = markdownTable(
    ["Capability", ...ids],
    CAPABILITIES.map((capability) => [
      `\`${capability}\``,
      ...all.map((harness) => (harness.capabilities.includes(capability) ? "yes" : "no")),
    ]),
  );
  return `${contract}\n\nThe capabilities that an engine can require:\n\n${capabilities}`;
}

async function wanted(text: string): Promise<string> {
  const begin = text.indexOf(BEGIN);
  const end = text.indexOf(END);
  if (begin < 0 || end < begin) throw new Error(`${FILE} has no ${BEGIN} and ${END}.`);
  return `${text.slice(0, begin + BEGIN.length)}\n\n${await generated()}\n\n${text.slice(end)}`;
}

/** Compares the document with the runtimes. */
export async function checkRuntimesTable(root: string): Promise<{ ok: boolean; report: string }> {
  const text = readFileSync(join(root, FILE), "utf8");
  if (text === (await wanted(text))) return { ok: true, report: "" };
  const report = `${FILE} differs from what the runtimes declare: run \`node scripts/runtimes-table.ts --write\`.`;
  return { ok: false, report };
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { check: { type: "boolean" }, write: { type: "boolean" } } });
  const file = join(ROOT, FILE);
  if (values.write) writeFileSync(file, await wanted(readFileSync(file, "utf8")));
  const { ok, report } = await checkRuntimesTable(ROOT);
  console.log(ok ? `${FILE} is up to date` : report);
  process.exitCode = ok ? 0 : 1;
}
