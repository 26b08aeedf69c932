/**
 * A new user's first steps: clones HEAD, runs the first command of the README with nothing configured, asks twice
 * in one session, runs the second one, the tests. Commands run on the machine's own node, not on the one of `npm run`.
 */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { ROOT, runCommand, type CommandResult } from "./command.ts";

const FACT = "The beacon of the northern harbour answers to the word kestrel-7351.";
const QUESTION = "Which word does the beacon of the northern harbour answer to?";

/** The commands of the README's first `sh` block: the main job and the tests, each complete on a fresh clone. */
function readmeCommands(folder: string): string[] {
  const text = readFileSync(join(folder, "README.md"), "utf8");
  const block = /```sh\n([^]*?)```/.exec(text)?.[1];
  assert.ok(block, "README.md has no sh block.");
  return block
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
}

/** The environment of a fresh shell: no keys, no settings of ours or of npm, an empty home. */
function strangerEnv(home: string): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { HOME: home, PAGURUS_HOME: join(home, ".pagurus") };
  const kept = ["LANG", "LC_ALL", "TERM", "TMPDIR", "USER", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"];
  for (const name of kept) if (process.env[name] !== undefined) env[name] = process.env[name];
  env["PATH"] = (process.env["PATH"] ?? "")
    .split(delimiter)
    .filter((folder) => !folder.includes("node_modules"))
    .join(delimiter);
  return env;
}

/** What npm needs to reach its registry and its cache stays as the machine has it. */
function npmEnv(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) =>
    /^(HOME|https?_proxy|no_proxy|npm_config_(registry|cache|cafile|userconfig))$/i.test(name),
  );
  return { ...env, ...Object.fromEntries(kept) };
}

async function shell(command: string, cwd: string, env: NodeJS.ProcessEnv): Promise<CommandResult> {
  console.log(`$ ${command}`);
  const result = await runCommand("sh", ["-c", command], { cwd, env, deadlineMs: 15 * 60_000 });
  const shown = (result.stdout + result.stderr).trimEnd().split("\n");
  console.log(shown.slice(-12).join("\n").replace(/^/gm, "  "));
  assert.equal(result.code, 0, `"${command}" ended with code ${result.code}.`);
  return result;
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "pagurus-clone-"));
  try {
    const clone = join(folder, "pagurus");
    const env = strangerEnv(join(folder, "home"));
    mkdirSync(join(folder, "home"));
    await shell(`git clone --quiet --no-hardlinks "${ROOT}" "${clone}"`, folder, npmEnv(env));
    const commands = readmeCommands(clone);
    const [run, tests] = commands;
    assert.ok(commands.length === 2 && run && tests, `The README has ${commands.length} commands, not two.`);
    const answer = await shell(run, clone, npmEnv(env));
    assert.notEqual(answer.stdout.trim(), "", "The first prompt got no answer.");
    await shell(`node bin/pagurus.js run --session proof "${FACT}"`, clone, env);
    const second = await shell(`node bin/pagurus.js run --session proof "${QUESTION}"`, clone, env);
    assert.match(second.stdout, /kestrel-7351/, "The second run does not see the first.");
    await shell(tests, clone, npmEnv(env));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

await main();
