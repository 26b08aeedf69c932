/**
 * Recorded sessions, which the real Claude Code has in five parts with a compaction after each, and what of them the model still has:
 * in its next request, or in one call of a search tool.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Pace } from "../../../packages/core/src/platform/pace.ts";
import { readSession } from "../../../packages/replay/src/read-session.ts";
import { sampleOf } from "../../../packages/replay/src/survival/survival.ts";
import {
  ITEM_KINDS,
  onOneLine,
  survivalItems,
  type ItemKind,
  type SurvivalItem,
} from "../../../packages/replay/src/survival/survival-items.ts";
import type { RecordedRequest } from "../../servers/server.ts";
import { InsideBench } from "./inside-bench.ts";

type Fields = Record<string, unknown>;

const COMPACTIONS = 5;
/** Items of a kind that are looked for. */
const MOST = 40;
/** Searches in one answer of the model. */
const AT_ONCE = 20;
const SEARCH = "mcp__pagurus__search";

/** A recorded session up to its own compaction, and the summary that a model wrote in that one. */
export interface Recorded {
  name: string;
  lines: Fields[];
  summary: string;
}

export const WAYS = ["the engine", "its own summary", "stale results dropped"] as const;
export type Way = (typeof WAYS)[number];

export interface Kept {
  items: number;
  inContext: number;
  /** In the context or in the answer of one search. */
  reachable: number;
}

export interface Fidelity {
  kinds: Record<ItemKind, Kept>;
  /** Characters of the request after the last compaction, without the system's. */
  characters: number;
  /** Model requests for the compactions. */
  requests: number;
}

/** Reads a file of Claude Code. Undefined for a session without a compaction. */
export function recordedSession(path: string, name: string): Recorded | undefined {
  const all = readFileSync(path, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Fields);
  const end = all.findIndex((line) => line["isCompactSummary"] === true);
  const summary = all[end];
  if (!summary) return undefined;
  const { content } = summary["message"] as { content: string };
  const lines = all
    .slice(0, end)
    .filter(({ type, isSidechain }) => (type === "user" || type === "assistant") && isSidechain !== true)
    .map(withoutTasks);
  return { name, lines, summary: content.slice(content.indexOf("\n") + 1) };
}

/** Without what has Claude Code report at a resume that a command in the background has ended. */
function withoutTasks({ toolUseResult: _record, ...line }: Fields): Fields {
  for (const { input } of blocks(line)) delete (input as Fields | undefined)?.["run_in_background"];
  return line;
}

/** Blocks of a line, of those with a type. */
function blocks(line: Fields | undefined): Fields[] {
  const { content } = (line?.["message"] ?? {}) as { content?: unknown };
  return Array.isArray(content) ? (content as Fields[]) : [];
}

/** The lines in five parts of about the same length; none divides a tool pair or an answer of the model. */
function parts(lines: readonly Fields[]): Fields[][] {
  const sizes = lines.map((line) => JSON.stringify(line["message"]).length);
  const step = sizes.reduce((sum, size) => sum + size, 0) / COMPACTIONS;
  const open = new Set<unknown>();
  const made: Fields[][] = [[]];
  let size = 0;
  lines.forEach((line, index) => {
    const isWhole = open.size === 0 && lines[index - 1]?.["type"] === "user" && line["type"] === "assistant";
    if (isWhole && size >= step * made.length && made.length < COMPACTIONS) made.push([]);
    made.at(-1)?.push(line);
    size += sizes[index] ?? 0;
    for (const { type, id, tool_use_id: of } of blocks(line)) {
      if (type === "tool_use") open.add(id);
      if (type === "tool_result") open.delete(of);
    }
  });
  return made;
}

/** Texts of a request's messages, without the escapes of JSON. */
function textOf(request: RecordedRequest | undefined): string {
  const found: string[] = [];
  const visit = (value: unknown): void => {
    if (typeof value === "string") found.push(value);
    else if (typeof value === "object" && value !== null) Object.values(value).forEach(visit);
  };
  visit(request?.body["messages"]);
  return found.join("\n");
}

/** A mod that keeps all messages and the results of the newest calls, as widespread plugins do. */
const STUB = `export function register(on) {
  on("session.compact", async ($, e, next) => {
    const fresh = new Set(e.messages.flatMap((m) => m.toolResults ?? []).slice(-5).map((r) => r.tool_use_id))
    const messages = e.messages.map(({ handle, ...m }) => m.toolResults === undefined ? m : { ...m,
      toolResults: m.toolResults.map((r) => fresh.has(r.tool_use_id) ? r : { ...r, text: "[stale result dropped]" }) })
    return { messages }
  })
}
`;

function installStub({ config }: InsideBench): void {
  const root = join(config, "skills", "stub");
  for (const folder of [".claude-plugin", "hooks"]) mkdirSync(join(root, folder), { recursive: true });
  const manifest = { name: "stub", version: "1.0.0", description: "Drops stale results." };
  writeFileSync(join(root, ".claude-plugin", "plugin.json"), JSON.stringify(manifest));
  writeFileSync(join(root, "hooks", "hooks.json"), JSON.stringify({ modules: ["./register.js"] }));
  writeFileSync(join(root, "hooks", "register.js"), STUB);
}

/** The file of a conversation in Claude Code's folder, which a test continues as a program of that name would have. */
class SessionFile {
  readonly id = randomUUID();
  readonly #path: string;
  readonly #cwd: string;

  constructor({ config, cwd }: InsideBench) {
    const folder = join(config, "projects", cwd.replaceAll(/[^a-zA-Z0-9]/g, "-"));
    mkdirSync(folder, { recursive: true });
    this.#path = join(folder, `${this.id}.jsonl`);
    this.#cwd = cwd;
  }

  append(lines: readonly Fields[]): void {
    const before = existsSync(this.#path) ? readFileSync(this.#path, "utf8") : "";
    const known = before.trim() === "" ? [] : before.trim().split("\n");
    const last = known.map((line) => JSON.parse(line) as Fields).findLast(({ uuid }) => uuid !== undefined);
    let parentUuid = last?.["uuid"] ?? null;
    const added = lines.map((line) => {
      const own = { ...line, parentUuid, sessionId: this.id, cwd: this.#cwd };
      parentUuid = line["uuid"] ?? null;
      return `${JSON.stringify(own)}\n`;
    });
    writeFileSync(this.#path, before + added.join(""));
  }
}

/** The items of a recorded session that are looked for. */
export async function itemsOf({ lines, name }: Recorded, folder: string): Promise<SurvivalItem[]> {
  const path = join(folder, `${name}.jsonl`);
  let parentUuid: unknown = null;
  const chained = lines.map((line) => {
    const own = JSON.stringify({ ...line, parentUuid });
    parentUuid = line["uuid"];
    return own;
  });
  writeFileSync(path, `${chained.join("\n")}\n`);
  const session = await readSession(path, new Pace());
  assert.ok(session, `${name} is a session`);
  return sampleOf(await survivalItems(session.messages, new Pace()), session.messages.length, MOST);
}

/** Leads the real Claude Code through the session, and looks for the items. */
export async function fidelityOf(recorded: Recorded, way: Way): Promise<Fidelity> {
  let missing: SurvivalItem[] = [];
  let sought: SurvivalItem[] = [];
  let first: RecordedRequest | undefined;
  const bench = await InsideBench.open(
    (nth, request) => {
      if (nth === 1) {
        first = request;
        const context = onOneLine(textOf(request));
        missing = sought.filter(({ text }) => !context.includes(text));
      }
      const from = (nth - 1) * AT_ONCE;
      const asked = way === "the engine" ? missing.slice(from, from + AT_ONCE) : [];
      if (asked.length === 0) return { text: "Done." };
      const toolCalls = asked.map(({ query }, index) => ({
        id: `toolu_${from + index}`,
        name: SEARCH,
        arguments: { query },
      }));
      return { toolCalls };
    },
    { summary: recorded.summary },
  );
  try {
    sought = await itemsOf(recorded, bench.root);
    if (way === "the engine") {
      await bench.install();
      await bench.startHost();
    } else if (way === "stale results dropped") installStub(bench);
    const file = new SessionFile(bench);
    const cut = parts(recorded.lines);
    assert.equal(cut.length, COMPACTIONS);
    for (const lines of cut) {
      file.append(lines);
      const claude = bench.claude(["--resume", file.id]);
      await claude.send("/compact");
      assert.deepEqual(claude.boundaries, ["manual"], JSON.stringify(claude.all.slice(-3)));
      assert.deepEqual(claude.notices, []);
      await claude.end();
    }
    const claude = bench.claude(["--resume", file.id]);
    await claude.send("And now?");
    assert.deepEqual(claude.notices, []);
    await claude.end();
    const found = new Set(
      missing.filter(({ text }, index) => answerTo(bench.mains.at(-1), index).includes(text)),
    );
    const lost = new Set(missing);
    const kinds = Object.fromEntries(
      ITEM_KINDS.map((kind): [ItemKind, Kept] => {
        const own = sought.filter((item) => item.kind === kind);
        const inContext = own.filter((item) => !lost.has(item)).length;
        const reachable = inContext + own.filter((item) => found.has(item)).length;
        return [kind, { items: own.length, inContext, reachable }];
      }),
    ) as Record<ItemKind, Kept>;
    return { kinds, characters: textOf(first).length, requests: bench.compactions.length };
  } finally {
    await bench.end();
  }
}

/** The answer to the nth search, on one line. */
function answerTo(request: RecordedRequest | undefined, nth: number): string {
  const messages = (request?.body["messages"] ?? []) as Fields[];
  const result = messages
    .flatMap((message) => blocks({ message }))
    .find(({ tool_use_id: id }) => id === `toolu_${nth}`);
  return onOneLine(JSON.stringify(result?.["content"] ?? ""));
}
