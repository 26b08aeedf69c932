/**
 * The tables of docs/runtimes.md and docs/guides/inside.md, made from what the bundled runtimes and the adapters in other programs declare.
 * Source of the questions: agent runtimes, "Compatibility contract". `node scripts/runtimes-table.ts --check | --write`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { HostCapability } from "../packages/contract/src/engine/engine.ts";
import type { AgentHarness } from "../packages/contract/src/harness/harness.ts";
import { registerBundled } from "../packages/app/src/bundled.ts";
import { configFromValue } from "../packages/core/src/config/load-config.ts";
import { silentLogger } from "../packages/core/src/platform/log.ts";
import type { AdapterAbilities } from "../packages/inside/src/install/program-install.ts";
import { INSIDE_PROGRAMS } from "../packages/inside/src/install/programs.ts";
import { PluginRegistry } from "../packages/host/src/plugin/registry.ts";
import { ROOT } from "./command.ts";
import { markdownTable } from "./markdown-table.ts";

/** Documents with a table, and how each is made. */
const TABLES: Readonly<Record<string, () => string | Promise<string>>> = {
  "docs/runtimes.md": generated,
  "docs/guides/inside.md": adaptersTable,
};
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

/** A question about adapters, and the answer of one; false is "no". */
type AdapterRow = readonly [question: string, answer: (can: AdapterAbilities) => string | false];

const ADAPTERS: readonly AdapterRow[] = [
  ["the messages of each request (`assemble`)", ({ assemble }) => assemble],
  ["a compaction that the user starts", ({ compaction }) => compaction.manual],
  ["an automatic compaction", ({ compaction }) => compaction.automatic],
  ["a compaction that is prepared ahead", ({ compaction }) => compaction.ahead],
  ["compactions of subagents", ({ compaction }) => compaction.subagents],
  ["large results", ({ results }) => results],
  ["passages for a prompt", ({ recall }) => recall],
  ["tokens and costs of its requests", ({ usage }) => usage || "unknown"],
  ["the provider's cache", ({ cache }) => cache || "unknown"],
];

function adaptersTable(): string {
  return markdownTable(
    ["", ...INSIDE_PROGRAMS.map(({ label }) => label)],
    ADAPTERS.map(([question, answer]) => [
      question,
      ...INSIDE_PROGRAMS.map(({ abilities }) => answer(abilities) || "no"),
    ]),
  );
}

async function wanted(file: string, text: string): Promise<string> {
  const begin = text.indexOf(BEGIN);
  const end = text.indexOf(END);
  if (begin < 0 || end < begin) throw new Error(`${file} has no ${BEGIN} and ${END}.`);
  const made = await TABLES[file]?.();
  return `${text.slice(0, begin + BEGIN.length)}\n\n${made}\n\n${text.slice(end)}`;
}

/** Compares the documents with the runtimes and the adapters. */
export async function checkRuntimesTable(root: string): Promise<{ ok: boolean; report: string }> {
  const stale: string[] = [];
  for (const file of Object.keys(TABLES)) {
    const text = readFileSync(join(root, file), "utf8");
    if (text !== (await wanted(file, text))) stale.push(file);
  }
  if (stale.length === 0) return { ok: true, report: "" };
  const report = `${stale.join(" and ")} differs from what the programs declare: run \`node scripts/runtimes-table.ts --write\`.`;
  return { ok: false, report };
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { check: { type: "boolean" }, write: { type: "boolean" } } });
  if (values.write)
    for (const file of Object.keys(TABLES)) {
      const path = join(ROOT, file);
      writeFileSync(path, await wanted(file, readFileSync(path, "utf8")));
    }
  const { ok, report } = await checkRuntimesTable(ROOT);
  console.log(ok ? "the tables are up to date" : report);
  process.exitCode = ok ? 0 : 1;
}
