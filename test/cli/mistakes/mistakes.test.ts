/** Mistakes at the command line: each gets its cause, its remedy and its exit code in one sentence, and what the sentence names exists. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Command } from "commander";
import { buildProgram } from "../../../packages/cli/src/cli-program.ts";
import { exitCodeFor } from "../../../packages/cli/src/cli-failure.ts";
import { systemFailure } from "../../../packages/cli/src/system-failure.ts";
import { configSchema } from "../../../packages/core/src/config/config-schema.ts";
import { parseKeyPath } from "../../../packages/core/src/config/key-path.ts";
import { keysAt } from "../../../packages/core/src/config/known-keys.ts";
import { everyNth } from "../../runner/short-form.ts";
import { runInside } from "../../turn/inside.ts";
import { fakeCli } from "../fake-cli.ts";

interface Mistake {
  typed: string;
  file?: string;
  env?: Record<string, string>;
  exit: number;
  code: string;
  cause: string;
  remedy: string;
}

/** Parses the blocks of `mistakes.txt`. */
function mistakes(): Mistake[] {
  const text = readFileSync(new URL("mistakes.txt", import.meta.url), "utf8");
  return text
    .trimEnd()
    .split(/\n\n+/)
    .filter((block) => block.startsWith("$ "))
    .map((block) => {
      const lines = block.split("\n");
      const [, typed = ""] = /^\$ pagurus (.*)$/.exec(lines[0] ?? "") ?? [];
      const file = lines.find((line) => line.startsWith("file "))?.slice(5);
      const env = lines.find((line) => line.startsWith("env "))?.slice(4);
      const parts = /^(\d) (\w+): (.*)» (.*)$/.exec(lines.at(-1) ?? "");
      assert.ok(parts, block);
      const [, exit = "", code = "", cause = "", remedy = ""] = parts;
      return {
        typed,
        exit: Number(exit),
        code,
        cause,
        remedy,
        ...(file === undefined ? {} : { file }),
        ...(env === undefined ? {} : { env: JSON.parse(env) as Record<string, string> }),
      };
    });
}

/** Splits as a shell does, without expansions. */
function argumentsOf(typed: string): string[] {
  return [...typed.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, plain]) => double ?? single ?? plain ?? "",
  );
}

async function answerTo({ typed, file, env }: Mistake): Promise<{ code: number; last: string; all: string }> {
  const root = mkdtempSync(join(tmpdir(), "pagurus-mistake-"));
  try {
    const home = join(root, "home");
    const workspace = join(root, "main");
    mkdirSync(home, { mode: 0o700 });
    mkdirSync(workspace);
    writeFileSync(join(workspace, "a.txt"), "hello");
    if (file !== undefined) writeFileSync(join(home, "pagurus.json"), file, { mode: 0o600 });
    const own = { PATH: "/usr/bin:/bin", HOME: root, PAGURUS_HOME: home, PAGURUS_NO_PROBE: "1", ...env };
    const answer = await runInside(argumentsOf(typed), { cwd: workspace, env: own, input: "" });
    const all = answer.stderr.replaceAll(root, "<root>");
    return { code: answer.code, last: all.trim().split("\n").at(-1) ?? "", all };
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/** Throws where the text names a command or an option that does not exist. */
function checkCommands(text: string, program: Command): void {
  for (const [, line = ""] of text.matchAll(
    /(?:^|[\s`"(])pagurus ((?:[a-z-][\w-]*(?: |(?=[`".;,:)]|$)))+)/g,
  )) {
    let at = program;
    const words = line.trim().split(" ");
    for (const [index, word] of words.entries()) {
      if (word.startsWith("-")) {
        const isKnown = at.options.some(({ long, short }) => long === word || short === word);
        assert.ok(isKnown || word === "--help", `${text}: ${at.name()} has no option ${word}`);
        continue;
      }
      const next = at.commands.find((one) => one.name() === word || one.aliases().includes(word));
      // A sentence about the program itself: `pagurus has no option -x`.
      if (index === 0 && !["has", "needs"].includes(word))
        assert.ok(next, `${text}: there is no command ${word}`);
      if (!next) break;
      at = next;
    }
  }
}

/** Throws where the text names a key that the configuration does not know. */
function checkKeys(text: string, typed: string): void {
  const schema = configSchema();
  const roots = keysAt(schema, []);
  for (const [path] of text.matchAll(/(?<![\w./-])[a-z]+(?:\.[A-Za-z]\w*|\[\d+\])+/g)) {
    const keys = parseKeyPath(path);
    // What the person wrote is quoted as it is; names of files and hosts are no keys.
    if (!roots.includes(String(keys[0])) || typed.includes(path)) continue;
    const known = keysAt(schema, keys.slice(0, -1));
    assert.ok(
      known.length === 0 || known.includes(String(keys.at(-1))) || typeof keys.at(-1) === "number",
      `${text}: ${path} is no key`,
    );
  }
}

/** Examples of addresses, and the page that has the program. */
const SHOWN_ADDRESSES = ["http://127.0.0.1:7117", "https://nodejs.org"];

function checkAddresses(text: string, { typed, file = "" }: Mistake): void {
  for (const [url] of text.matchAll(/https?:\/\/[\w.:/-]+[\w]/g))
    assert.ok(
      SHOWN_ADDRESSES.includes(url) || `${typed} ${file}`.includes(url),
      `${text}: ${url} is not what was used`,
    );
}

test("150 mistakes and more get cause, remedy and exit code in one sentence, and nothing in it is wrong", async () => {
  const all = mistakes();
  assert.ok(all.length >= 150, `${all.length} mistakes`);
  const program = await buildProgram(fakeCli(), async () => undefined);
  for (const mistake of everyNth(all, 4)) {
    const { typed, exit, code, cause, remedy } = mistake;
    const sentence = cause + remedy;
    const about = `pagurus ${typed} ${mistake.file ?? ""}`;
    const answer = await answerTo(mistake);
    assert.equal(answer.last, `pagurus: ${sentence} [${code}]`, about);
    assert.equal(answer.code, exit, about);
    assert.equal(exitCodeFor(code), exit, about);
    assert.doesNotMatch(answer.all, /\n {4}at |\[internal\]|\[object|undefined\b/, about);
    assert.ok(cause.length > 10 && remedy.length > 10, about);
    assert.ok(sentence.length < 450, `${about}: ${sentence.length} characters`);
  }
  for (const mistake of all) {
    const sentence = mistake.cause + mistake.remedy;
    checkCommands(sentence, program);
    checkKeys(sentence, `${mistake.typed} ${mistake.file ?? ""}`);
    checkAddresses(sentence, mistake);
  }
});

test("A failed call of the system names its path, its cause and what to do", () => {
  const error = (code: string, syscall: string): Error =>
    Object.assign(new Error("x"), { code, syscall, path: "/srv/home/server", errno: -1 });
  const denied = systemFailure(error("EACCES", "mkdir"));
  assert.equal(denied?.code, "store_write_failed");
  assert.equal(
    denied.message,
    "/srv/home/server cannot be written: permission is denied (EACCES); give this user the right to it, or name another place.",
  );
  assert.equal(
    systemFailure(error("ENOENT", "scandir"))?.message,
    "/srv/home/server cannot be read: it does not exist (ENOENT); check the path.",
  );
  assert.match(
    systemFailure(error("EWHAT", "open"))?.message ?? "",
    /cannot be opened: the system reports EWHAT/,
  );
  assert.equal(systemFailure(new Error("no call")), undefined);
});

test("A mistake in the configuration that stops nothing is a note", async () => {
  const noteOf = async (file: string): Promise<string> => {
    const answer = await answerTo({ typed: "run hi", file, exit: 0, code: "", cause: "", remedy: "" });
    assert.equal(answer.code, 0, answer.all);
    return answer.last;
  };
  assert.equal(
    await noteOf('{ "agents": { "defaults": { "timeoutSeconds": 5, "timeoutSeconds": 60 } } }'),
    "note: agents.defaults.timeoutSeconds is in <root>/home/pagurus.json twice; the last one counts. Remove the other.",
  );
  assert.equal(
    await noteOf('{ "mcpServers": { "x": { "command": "a" } } }'),
    "note: mcpServers is not a known key; it is not used. Put its entries into mcp.servers.",
  );
});
