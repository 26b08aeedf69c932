/**
 * docs/conformance.md: the conformance suites run over the bundled engines and runtimes and the examples.
 * `node scripts/conformance.ts --write`. The real programs have to be installed (`npm run setup:real`); with
 * `--check`, the runs that need no such program are compared with the document, and nothing is written.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createPagurus } from "../packages/app/src/app.ts";
import type { ContextEngineFactory } from "../packages/contract/src/engine/engine.ts";
import type { PluginApi } from "../packages/contract/src/host/plugin.ts";
import { createLegacyEngine } from "../packages/host/src/engines/legacy/legacy-engine.ts";
import { createLosslessEngine } from "../packages/lossless/src/lossless-engine.ts";
import {
  engineChecks,
  harnessChecks,
  runEngineSuite,
  runHarnessSuite,
  type CheckResult,
  type HarnessSuiteOptions,
  type SuiteReport,
} from "../packages/testkit/src/index.ts";
import { programChecks } from "../packages/testkit/src/program/program-suite.ts";
import { codexBinary, pinnedCodexVersion } from "../test/real/codex-binary.ts";
import { openTranslated } from "../test/real/acp/suite-endpoint.ts";
import { claudeBinary, pinnedVersion, realProgram } from "../test/real/programs.ts";
import { ROOT } from "./command.ts";
import { markdownTable } from "./markdown-table.ts";

const FILE = "docs/conformance.md";
const EXAMPLE_ENGINE = "newest-turns";
const EXAMPLE_HARNESS = "example-program";

interface Subject {
  name: string;
  /** Needs a program that is not part of the package. */
  isReal?: true;
  run(): Promise<SuiteReport>;
}

async function exampleEngine(): Promise<ContextEngineFactory> {
  const { default: register } = (await import(
    new URL(`../examples/${EXAMPLE_ENGINE}/index.js`, import.meta.url).href
  )) as { default: (api: Partial<PluginApi>) => void };
  const made: ContextEngineFactory[] = [];
  register({ registerContextEngine: (_id, factory) => void made.push(factory) });
  const [factory] = made;
  if (!factory) throw new Error("The example registers no engine.");
  return factory;
}

const ENGINES: readonly Subject[] = [
  { name: "legacy", run: () => runEngineSuite({ create: () => createLegacyEngine() }) },
  {
    name: "lossless",
    run: () => runEngineSuite({ create: ({ dir }) => createLosslessEngine({ agentDir: dir, config: {} }) }),
  },
  {
    name: EXAMPLE_ENGINE,
    run: async () => {
      const factory = await exampleEngine();
      return runEngineSuite({ create: ({ dir }) => factory({ agentDir: dir }) });
    },
  },
];

function harness(
  runtime: string,
  plugins: Record<string, unknown> = {},
  more: Partial<HarnessSuiteOptions> = {},
): Promise<SuiteReport> {
  return runHarnessSuite({ open: createPagurus, runtime, plugins, ...more });
}

const HARNESSES: readonly Subject[] = [
  { name: "embedded", run: () => harness("embedded") },
  {
    name: "codex",
    isReal: true,
    run: () => {
      const config = { command: codexBinary(), sandbox: "danger-full-access" };
      return harness("codex", { entries: { codex: { config } } });
    },
  },
  {
    name: "claude-cli",
    isReal: true,
    run: () =>
      harness(
        "claude-cli",
        { entries: { "claude-cli": { config: { command: claudeBinary() } } } },
        { api: "anthropic-messages" },
      ),
  },
  {
    name: "acp",
    isReal: true,
    run: () => {
      const codex = {
        command: realProgram("@agentclientprotocol/codex-acp", "codex-acp"),
        mode: "agent-full-access",
      };
      return harness(
        "acp",
        { entries: { acp: { config: { agentId: "codex", agents: { codex } } } } },
        // The agent has its own names for tools, and is slow to start.
        { api: "openai-responses", open: openTranslated, deadlineMs: 60_000 },
      );
    },
  },
  {
    name: EXAMPLE_HARNESS,
    run: () => harness(EXAMPLE_HARNESS, { load: { paths: [join(ROOT, "examples/program")] } }),
  },
];

type Reports = Map<string, SuiteReport>;

async function reportsOf(subjects: readonly Subject[], isRealToo: boolean): Promise<Reports> {
  const reports: Reports = new Map();
  for (const { name, isReal, run } of subjects) {
    if (isReal && !isRealToo) continue;
    const report = await run();
    console.log(`${name}: ${report.passed} passed, ${report.failed} failed, ${report.skipped} skipped`);
    reports.set(name, report);
  }
  return reports;
}

const CELLS: Record<CheckResult["status"], string> = { passed: "yes", failed: "**no**", skipped: "-" };

/** The cells of each check's row, by its id. */
function rowsOf(reports: Reports): Map<string, string[]> {
  const rows = new Map<string, string[]>();
  for (const { results } of reports.values())
    for (const { id, status } of results) rows.set(id, [...(rows.get(id) ?? []), CELLS[status]]);
  return rows;
}

/** Skipped checks of a subject, grouped by reason. */
function skipsOf(name: string, { results }: SuiteReport): string[] {
  const byReason = new Map<string, string[]>();
  for (const { id, status, reason = "" } of results)
    if (status === "skipped") byReason.set(reason, [...(byReason.get(reason) ?? []), `\`${id}\``]);
  const lines = [...byReason].map(([reason, ids]) => `- ${reason} (${ids.join(", ")})`);
  return lines.length === 0 ? [] : [`### Skipped for ${name}`, "", ...lines, ""];
}

function section(
  title: string,
  checks: readonly { id: string; title: string }[],
  reports: Reports,
): string[] {
  const rows = rowsOf(reports);
  const names = [...reports.keys()];
  const totals = [...reports.values()].map(
    ({ passed, failed, skipped }) => `${passed} / ${failed} / ${skipped}`,
  );
  return [
    `## ${title}`,
    "",
    markdownTable(
      ["check", ...names.map((name) => `\`${name}\``), "requirement"],
      [
        ...checks.map(({ id, title: asked }) => [`\`${id}\``, ...(rows.get(id) ?? []), asked]),
        ["passed / failed / skipped", ...totals, ""],
      ],
    ),
    "",
    ...[...reports].flatMap(([name, report]) => skipsOf(name, report)),
  ];
}

/** The checks alone: `npm run newest` runs them, and docs/tried-with.md has the results. */
function programSection(): string {
  const rows = programChecks().map(({ id, title }) => [`\`${id}\``, title]);
  return [
    "## Programs",
    "",
    "Checks of `pagurus runtimes test <program>` for a program that its user starts under `pagurus wire`, or with `pagurus acp` as its agent. Each",
    "is made of starts of the program in a scratch home, against a scripted model. [tried-with.md](tried-with.md) has the results.",
    "",
    markdownTable(["check", "requirement"], rows),
    "",
  ].join("\n");
}

function documentOf(engines: Reports, harnesses: Reports): string {
  return [
    "# Conformance",
    "",
    "Results of `pagurus engines test <dir>` and `pagurus runtimes test <id>` for the bundled engines and runtimes, and",
    "for the two in [examples/](../examples). Both suites are published in `pagurus/testkit`:",
    "[write an engine](guides/write-an-engine.md), [write a harness](guides/write-a-harness.md).",
    "",
    "`yes`: the check passes. `-`: the feature is not offered, or the gap is declared; the reasons are below each table. For",
    "every check the tests have an engine or a harness with only this fault, which fails it. When a user requests a compaction",
    "of `lossless` a model writes its summary; its tests run the compaction checks in that way as well.",
    "",
    `Generated by \`node scripts/conformance.ts --write\`; Codex ${pinnedCodexVersion()}, Claude Code ${pinnedVersion("@anthropic-ai/claude-code")}, codex-acp ${pinnedVersion("@agentclientprotocol/codex-acp")} for \`acp\`.`,
    "",
    ...section("Engines", engineChecks(), engines),
    ...section("Runtimes", harnessChecks(), harnesses),
    programSection(),
  ].join("\n");
}

/** Compares each check's status with the subject's column in the document. Returns the differences. */
function differences(text: string, reports: Reports): string[] {
  const lines = text.split("\n").map((line) => line.split("|").map((cell) => cell.trim()));
  return [...reports].flatMap(([name, { results }]) => {
    const head = lines.findIndex((cells) => cells.includes(`\`${name}\``));
    const column = lines[head]?.indexOf(`\`${name}\``) ?? -1;
    return results.flatMap(({ id, status }) => {
      const row = lines.find((cells, index) => index > head && cells[1] === `\`${id}\``);
      const documented = row?.[column] ?? "nothing";
      return documented === CELLS[status]
        ? []
        : [`${name}, ${id}: the document has ${documented}, the run ${CELLS[status]}`];
    });
  });
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { check: { type: "boolean" }, write: { type: "boolean" } } });
  const file = join(ROOT, FILE);
  const engines = await reportsOf(ENGINES, true);
  const harnesses = await reportsOf(HARNESSES, values.write === true);
  if (values.write) writeFileSync(file, documentOf(engines, harnesses));
  const text = readFileSync(file, "utf8");
  const different = [
    ...differences(text, engines),
    ...differences(text, harnesses),
    ...(text.includes(programSection()) ? [] : ["the document has other checks of programs"]),
  ];
  const failed = [...engines, ...harnesses]
    .filter(([, { ok }]) => !ok)
    .map(([name]) => `${name} fails checks`);
  for (const problem of [...different, ...failed]) console.error(problem);
  if (different.length > 0) console.error(`Run \`node scripts/conformance.ts --write\`, and see ${FILE}.`);
  process.exitCode = different.length + failed.length === 0 ? 0 : 1;
}

await main();
