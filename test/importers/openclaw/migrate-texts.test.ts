/** Sentences of the migration name commands and settings that exist. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import type { Command } from "commander";
import { buildProgram } from "../../../packages/cli/src/cli-program.ts";
import { fakeCli } from "../../cli/fake-cli.ts";
import { configSchema } from "../../../packages/core/src/config/config-schema.ts";
import { keysAt } from "../../../packages/core/src/config/known-keys.ts";

const SOURCES = ["packages/importers/src/openclaw", "packages/cli/src/doctor", "docs/guides"];
/** Files whose sentences are about a migration. */
const FILES = /importers\/src\/openclaw\/.*\.ts$|migrate-\w+\.ts$|from-openclaw\.md$/;

function texts(): string[] {
  return SOURCES.flatMap((folder) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => FILES.test(path))
      .flatMap((path) => {
        const text = readFileSync(path, "utf8");
        if (path.endsWith(".md")) return [...text.matchAll(/`[^`\n]+`/g)].map(([found]) => found);
        // Sentences alone: texts and templates with a space.
        return [...text.matchAll(/"(?:[^"\\\n]|\\.)* (?:[^"\\\n]|\\.)*"|`[^`\n]* [^`\n]*`/g)].map(([found]) =>
          found.replaceAll(/\$\{[^}]*\}/g, "x"),
        );
      }),
  );
}

/** Has subcommands, and works by itself: a word after it may be of the sentence. */
const BY_ITSELF = "serve";

/** Command names at the start of the words; undefined where one of them is no command. */
function commandOf(root: Command, words: readonly string[]): Command | undefined {
  let command = root;
  for (const word of words) {
    if (command.commands.length === 0 || !/^[a-z]+(?:\|[a-z]+)*$/.test(word)) break;
    const names = word.split("|");
    const found = names.map((name) => command.commands.find((each) => each.name() === name));
    const [first] = found;
    if (first === undefined || found.includes(undefined)) return undefined;
    command = first;
    if (command.name() === BY_ITSELF) break;
  }
  return command;
}

it("each command and option that a text of the migration names exists", async () => {
  const program = await buildProgram(fakeCli(), () => Promise.resolve());
  const named = texts().flatMap((text) =>
    [...text.matchAll(/\bpagurus ((?:[a-z][a-z|]*)(?: [a-z|]+)*)((?: [^.,;:()`"]*)?)/g)].map(
      ([whole, words = "", rest = ""]) => ({ whole, words: words.split(" "), rest }),
    ),
  );
  assert.ok(named.length > 20, String(named.length));
  const wrong = named.filter(({ words, rest }) => {
    // A sentence may continue after the command.
    const command = commandOf(program, words.slice(0, 2));
    const options = [...rest.matchAll(/--[a-z][a-z-]*/g)].map(([option]) => option);
    return !command || options.some((option) => !command.options.some(({ long }) => long === option));
  });
  assert.deepEqual(
    wrong.map(({ whole }) => whole),
    [],
  );
});

/** Roots of our settings; OpenClaw has some of the same name. */
const ROOTS = keysAt(configSchema(), []);
/** OpenClaw's own, which the texts name as its. */
const THEIRS = /^(?:cron|agents\.(?:entries|list\.default)|gateway|channels\.(?:whatsapp|defaults))\b/;

it("each setting that a text of the migration names exists", () => {
  const exists = (path: string): boolean => {
    const keys = path
      .replace(/^agents\.\*/, "agents.defaults")
      .replaceAll(/<[^>]*>|\*/g, "<>")
      .split(".");
    const last = keys.pop() ?? "";
    const above = keys.map((key) => (key === "<>" ? "x" : key));
    const known = keysAt(configSchema(), above);
    return last === "<>" || known.includes(last) || isOpen(above);
  };
  const isOpen = (path: readonly string[]): boolean => keysAt(configSchema(), [...path, "x"]).length > 0;
  const named = texts().flatMap((text) =>
    [...text.matchAll(/\b([a-z]+)\.(?:[A-Za-z]+|<[a-z]+>|\*)(?:\.(?:[A-Za-z]+|<[a-z]+>|\*))*/g)].flatMap(
      ([path, root = ""]) => (ROOTS.includes(root) && !THEIRS.test(path) ? path : []),
    ),
  );
  assert.ok(named.length > 10, String(named.length));
  assert.deepEqual(
    [...new Set(named)].filter((path) => !exists(path)),
    [],
  );
});
