import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import type { Choice } from "../../packages/cli/src/setup/survey.ts";
import { problemOf } from "../../packages/cli/src/setup/check-choice.ts";
import { progressLine } from "../../packages/cli/src/setup/import-conversations.ts";
import { SetupRecord } from "../../packages/cli/src/setup/setup-record.ts";
import { Desk } from "./desk.ts";
import { command } from "./fake-cli.ts";
import { completed } from "./fake-pagurus.ts";

const silent = async function* (): AsyncGenerator<typeof completed> {
  yield completed;
};

let root: string;
let home: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "pagurus-setup-"));
  home = join(root, ".pagurus");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function put(name: string, text: string, mode = 0o600): string {
  const path = join(root, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

/** Variables of a user with these programs. */
function user(programs: readonly string[] = [], more: Record<string, string> = {}): Record<string, string> {
  mkdirSync(join(root, ".bin"), { recursive: true });
  for (const name of programs) put(`.bin/${name}`, "#!/bin/sh\necho 1.2.3\n", 0o755);
  return { HOME: root, PATH: join(root, ".bin"), PAGURUS_HOME: home, PAGURUS_NO_PROBE: "1", ...more };
}

const config = (): string => join(home, "pagurus.json");

test("without a terminal setup prints what it found and the commands, and writes nothing", async () => {
  put(".claude/.credentials.json", "{}");
  put(".claude/projects/-w/one.jsonl", "{}\n");
  const env = user(["claude", "codex"], { GEMINI_API_KEY: "secret-value" });
  const { code, out, err } = await command(["setup"], { input: "", env });
  assert.equal(code, 0, err);
  assert.match(
    out,
    /^Codex +no login found \(codex login\)\nClaude Code +your own login\nGEMINI_API_KEY +a key\n/,
  );
  assert.match(
    out,
    /\n# The key in GEMINI_API_KEY: (google\/\S+)\npagurus config set agents\.defaults\.model \1\n/,
  );
  assert.match(out, /\n# or Claude Code with your own login: (\S+)\n(?:pagurus config set .*\n){3}/);
  assert.match(out, new RegExp(`\\npagurus sessions import ${join(root, ".claude/projects")}\\n`));
  assert.doesNotMatch(out, /secret-value/);
  assert.ok(!existsSync(home));
});

test("an agent that cannot answer with its own login is offered in its own terminal", async () => {
  put(".codex/auth.json", "{}");
  const { out } = await command(["setup"], { input: "", env: user(["codex", "gemini"]) });
  assert.match(out, /\n# or Gemini CLI in its own terminal: (pagurus wire -- gemini)\n\1\n/);
  assert.doesNotMatch(out, /wire -- codex/);
});

test("an agent's login is not offered where a key or another address of its provider is in use", async () => {
  put(".claude/.credentials.json", "{}");
  put(".codex/auth.json", "{}");
  const offers = async (more: Record<string, string>): Promise<string[]> => {
    const { out } = await command(["setup"], { input: "", env: user(["claude", "codex"], more) });
    return [...out.matchAll(/^# (?:or )?(.*) with your own login/gm)].map(([, name = ""]) => name);
  };
  assert.deepEqual(await offers({}), ["Codex", "Claude Code"]);
  assert.deepEqual(await offers({ OPENAI_API_KEY: "k" }), ["Claude Code"]);
  assert.deepEqual(await offers({ ANTHROPIC_BASE_URL: "http://127.0.0.1:1" }), ["Codex"]);
});

test("without a terminal and with nothing found setup names the ways to get a model", async () => {
  const { out } = await command(["setup"], { input: "", env: user() });
  assert.match(out, /^No agent, key, local server or conversation was found\./);
  assert.match(out, /export ANTHROPIC_API_KEY=….*OPENROUTER_API_KEY/);
});

for (const name of ["login", "init", "onboard"]) {
  test(`pagurus ${name} is answered by setup`, async () => {
    const { code, out } = await command([name], { input: "", env: user() });
    assert.equal(code, 0);
    assert.match(out, /^No agent, key/);
  });
}

test("a choice that fails is named before anything is written, and another one opens the chat", async () => {
  const desk = new Desk(silent, {
    argv: ["setup"],
    env: user([], { ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: await dead() }),
  });
  await desk.until(/Who answers\?\n {2}1 {2}The key in ANTHROPIC_API_KEY \(anthropic\/.*\n/);
  await desk.until(/\[1\]: $/);
  // The endpoint is dead: nothing is written, and the question comes again.
  await desk.type("1\n");
  await desk.until(/does not answer \(.*\); start its server or check the network.*[^]*\[1\]: $/);
  assert.ok(!existsSync(home));
  await desk.type("2\n");
  await desk.until(/› $/);
  await desk.say("\u0004");
  assert.equal(await desk.end(), 0);
});

test("a no writes nothing, and a yes can be undone byte for byte", async () => {
  put(".codex/auth.json", "{}");
  const before = "// mine\n{ agents: { list: [{ id: 'main' }] } }\n";
  mkdirSync(home, { mode: 0o700 });
  writeFileSync(config(), before);
  const env = user(["codex"]);
  const refused = new Desk(silent, { argv: ["setup"], env });
  await refused.until(/Codex with your own login.*[^]*\[1\]: $/);
  await refused.type("\n");
  await refused.until(
    /This will be written:\n {2}\S+pagurus\.json\n {4}agents\.defaults\.model = openai\/.*[^]*\[y\]: $/,
  );
  await refused.type("n\n");
  assert.equal(await refused.end(), 0);
  assert.match(await refused.screen(), /Nothing was written; pagurus setup asks again\./);
  assert.equal(readFileSync(config(), "utf8"), before);
  assert.ok(!existsSync(join(home, "setup")));

  const agreed = new Desk(silent, { argv: ["setup"], env });
  await agreed.until(/\[1\]: $/);
  await agreed.type("\n");
  await agreed.until(/\[y\]: $/);
  await agreed.type("y\n");
  await agreed.until(/Try: .*[^]*› $/);
  await agreed.say("\u0004");
  assert.equal(await agreed.end(), 0);
  const written = readFileSync(config(), "utf8");
  assert.match(written, /\/\/ mine/);
  assert.match(written, /"openai\/[^"]+"/);
  assert.match(written, /resident"?: true/);

  const { out } = await command(["setup", "--undo"], { input: "", env });
  assert.match(out, /pagurus\.json is as before, byte for byte\.\n$/);
  assert.equal(readFileSync(config(), "utf8"), before);
  const again = await command(["setup", "--undo"], { input: "", env });
  assert.match(again.out, /^Setup has changed nothing in .* that could be taken back\.\n$/);
});

test("undo keeps what the user changed since, takes back setup's own keys and says so", () => {
  const record = SetupRecord.begin(home, new Date());
  const model = ["agents", "defaults", "model"];
  record.configure(home, [
    { path: model, value: "ollama/one" },
    { path: ["agents", "defaults", "maxSteps"], value: 3 },
  ]);
  const edited = readFileSync(config(), "utf8").replace('"ollama/one"', '"ollama/two"');
  writeFileSync(config(), edited);
  const [sentence = ""] = SetupRecord.newest(home)?.undo() ?? [];
  assert.match(
    sentence,
    /was changed since: your changes stay, and only agents\.defaults\.maxSteps is as before\.$/,
  );
  const after = readFileSync(config(), "utf8");
  assert.match(after, /ollama\/two/);
  assert.doesNotMatch(after, /maxSteps/);
});

test("undo removes a file that did not exist before, and restores one that setup replaced", () => {
  const old = put(".pagurus/keys/openai", "old key");
  const record = SetupRecord.begin(home, new Date());
  record.write(join(home, "keys", "google"), "new key");
  record.write(old, "other key");
  record.configure(home, [{ path: ["agents", "defaults", "model"], value: "ollama/one" }]);
  const sentences = SetupRecord.newest(home)?.undo() ?? [];
  assert.deepEqual(
    sentences.map((each) => each.replace(home, "")),
    [
      "/pagurus.json is removed; it did not exist before.",
      "/keys/openai is as before, byte for byte.",
      "/keys/google is removed; it did not exist before.",
    ],
  );
  assert.equal(readFileSync(old, "utf8"), "old key");
  assert.ok(!existsSync(join(home, "setup")));
});

test("bare pagurus offers setup in a new home, and leaving it opens the chat", async () => {
  const desk = new Desk(silent, { argv: [], env: user() });
  await desk.until(/To use a key of yours, .*ANTHROPIC_API_KEY.*\nWho answers\?[^]*\[1\]: $/);
  await desk.type("q\n");
  await desk.say("hello\r");
  await desk.say("\u0004");
  assert.equal(await desk.end(), 0);
  assert.deepEqual(
    desk.pagurus.requests.map(({ prompt }) => prompt),
    ["hello"],
  );
});

/** Address of a port on which nothing listens. */
async function dead(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}

test("a refused key, a dead endpoint and a broken program each have one sentence with the remedy", async () => {
  const server = createServer((_request, response) => response.writeHead(401).end("{}"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const choice: Choice = {
      kind: "key",
      label: "",
      detail: "",
      ref: "anthropic/claude-sonnet-5-5",
      settings: [],
    };
    const env = { ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: url };
    assert.match(
      (await problemOf(choice, {}, env)) ?? "",
      /^127\.0\.0\.1:\d+ refuses the key \(HTTP 401\); make another one at the provider, or choose another way\.$/,
    );
    const gone = { ...env, ANTHROPIC_BASE_URL: await dead() };
    assert.match(
      (await problemOf(choice, {}, gone)) ?? "",
      /^127\.0\.0\.1:\d+ does not answer \(.*ECONNREFUSED.*\); start its server or check the network, and try again\.$/,
    );
  } finally {
    server.close();
  }
  const file = put(".bin/codex", "#!/bin/sh\necho loading >&2\necho no native part >&2\nexit 3\n", 0o755);
  const agent = { id: "codex", label: "Codex", file, isLoggedIn: true, login: undefined };
  const broken: Choice = { kind: "login", label: "", detail: "", ref: "openai/x", settings: [], agent };
  assert.match(
    (await problemOf(broken, {}, user())) ?? "",
    /^Codex does not start \(.*\/codex: no native part\); install it again with npm install -g @openai\/codex\.$/,
  );
});

test("the line of progress has a bar, a share and a count", () => {
  assert.equal(progressLine(11, 44, "Codex"), `${"█".repeat(6)}${"░".repeat(18)}  25 %  11 of 44 · Codex`);
});
