/** Real and public files of other programs: whatever words they have are found again in what is kept. */
import assert from "node:assert/strict";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { wordsOf } from "../../packages/keeper/src/formats/kept-record.ts";
import { takenAt } from "../../packages/keeper/src/programs/taken-at.ts";
import { KeptHome } from "./kept-home.ts";

const PUBLIC = join(import.meta.dirname, "public");
/** Further homes of this kind, for the full form: folders whose content is that of a user's home. */
const MORE = process.env["PAGURUS_KEEPER_HOMES"]?.split(":") ?? [];
/** Signatures and ciphertexts. */
const CODE = /^(?:signature|thoughtSignature|thinkingSignature|textSignature|encrypted_content)$/;

/** Strings of a value that a person or a model wrote or read: those with spaces, and those in fields of words. */
function written(value: unknown, key = ""): string[] {
  if (typeof value === "string") {
    const isWords = /\s/.test(value.trim()) || /^(?:text|content|thinking|message|summary|output)$/.test(key);
    return isWords && value.trim() !== "" && !CODE.test(key) && !value.startsWith("data:") ? [value] : [];
  }
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, each]) => written(each, Array.isArray(value) ? key : name));
}

function jsonValues(path: string): unknown[] {
  const text = readFileSync(path, "utf8");
  if (path.endsWith(".json")) return [JSON.parse(text)];
  return text.split("\n").flatMap((line) => {
    try {
      return [JSON.parse(line) as unknown];
    } catch {
      // A line that ends in the middle.
      return line.trim() === "" ? [] : [line];
    }
  });
}

function wordsOfSource(path: string): string[] {
  if (/\.jsonl?$/.test(path))
    return jsonValues(path).flatMap((value) => (typeof value === "string" ? [value] : written(value)));
  return readFileSync(path, "utf8")
    .split("\n")
    .flatMap((line) => line.replace(/^#### /, "").trim() || []);
}

async function check(source: string): Promise<{ agents: Set<string>; strings: number }> {
  using home = new KeptHome();
  cpSync(source, home.folder, { recursive: true });
  await home.keeper.pass();
  assert.deepEqual(home.problems, []);
  using words = home.words();
  const kept = new Map<string, string>();
  for (const { id } of words.conversations())
    for (const record of words.records(id, { isWhole: true }))
      kept.set(record.path, `${kept.get(record.path) ?? ""}\n${wordsOf(record)}`);
  const agents = new Set<string>();
  let strings = 0;
  const files = readdirSync(home.folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  for (const entry of files) {
    const path = join(entry.parentPath, entry.name);
    const file = words.archive.fileAt(path);
    if (!file) continue;
    assert.equal(home.kept(path), readFileSync(path, "utf8"), path);
    agents.add(file.agent);
    if (takenAt(file.agent, path, { HOME: home.folder }).take !== "words" || !/\.(?:jsonl?|md)$/.test(path))
      continue;
    const text = kept.get(path) ?? "";
    for (const each of wordsOfSource(path)) {
      // Arguments of a call are JSON in its text.
      assert.ok(
        text.includes(each) || text.includes(JSON.stringify(each).slice(1, -1)),
        `${basename(path)} has words that are not found: ${each.slice(0, 200)}`,
      );
      strings += 1;
    }
  }
  return { agents, strings };
}

test("every string of words in public files of twelve programs is found in what is kept", async () => {
  const { agents, strings } = await check(join(PUBLIC, "home"));
  assert.deepEqual([...agents].toSorted(), [
    "aider",
    "claude-code",
    "cline",
    "codex",
    "copilot",
    "cursor",
    "gemini",
    "goose",
    "openclaw",
    "pi",
    "qwen",
    "roo",
  ]);
  assert.ok(strings > 100, `${strings} strings`);
});

test("the rows of public databases of OpenCode and Zed are found in what is kept", async () => {
  using home = new KeptHome();
  for (const [name, folder, file] of [
    ["opencode.sql", ".local/share/opencode", "opencode.db"],
    ["zed.sql", ".local/share/zed/threads", "threads.db"],
  ] as const) {
    mkdirSync(home.path(folder), { recursive: true });
    using db = new DatabaseSync(home.path(join(folder, file)));
    db.exec(readFileSync(join(PUBLIC, name), "utf8"));
  }
  await home.keeper.pass();
  using words = home.words();
  const found = (query: string): unknown[] =>
    words.search(query, {}).map(({ role, conversation }) => [role, conversation.agent, conversation.native]);
  assert.deepEqual(found("inspect the sqlite fixture"), [["user", "opencode", "registry-opencode"]]);
  assert.deepEqual(found("sqlite rows are readable"), [["assistant", "opencode", "registry-opencode"]]);
  assert.equal(found("where does zed keep").length, 1);
  assert.deepEqual(home.problems, []);
});

for (const source of MORE)
  test(`every string of words in ${source} is found in what is kept`, async () => {
    assert.ok(existsSync(source));
    const { strings } = await check(source);
    assert.ok(strings > 0);
  });
