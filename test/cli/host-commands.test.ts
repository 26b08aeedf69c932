import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { hideSecrets } from "../../packages/cli/src/config/config-work.ts";
import { execute } from "../../packages/cli/src/cli-program.ts";
import { holdBack } from "../../packages/host/src/tool/changes/held-area.ts";
import { command, fakeCli } from "./fake-cli.ts";
import { FakePagurus, part, receipt, statusReport } from "./fake-pagurus.ts";

const home = mkdtempSync(join(tmpdir(), "pagurus-home-"));
after(() => rmSync(home, { recursive: true }));
const env = { PAGURUS_HOME: home };
const file = join(home, "pagurus.json");

test("status --json is the raw report; the text has one line for each fact", async () => {
  const report = statusReport();
  const json = await command(["status", "--json"], { script: { status: report } });
  assert.deepEqual(JSON.parse(json.out), report);
  const text = await command(["status"], { script: { status: report } });
  assert.match(text.out, /^Execution: {3}in process$/m);
  assert.match(text.out, /^Runtime: {5}embedded \(default\)$/m);
  assert.match(text.out, /^Session: {5}main \(no turns yet\)$/m);
});

test("compact exits 1 when nothing was compacted", async () => {
  const script = {
    compact: () => Promise.resolve({ compacted: false, reason: "nothing old", degraded: [] }),
  };
  const { code, out } = await command(["compact"], { script });
  assert.deepEqual([code, out], [1, "Not compacted: nothing old.\n"]);
});

test("compact reports the saved tokens, and on a terminal that it has started", async () => {
  const compact = () =>
    Promise.resolve({ compacted: true, tokensBefore: 12_000, tokensAfter: 3_000, degraded: [] });
  const { code, out, err } = await command(["compact"], { script: { compact } });
  assert.deepEqual([code, err], [0, ""]);
  assert.match(out, /^Compacted: 12,000 → 3,000 tokens \(saved 9,000\)\./);
  const cli = fakeCli({ pagurus: new FakePagurus({ compact }), env: { NO_COLOR: "1" } });
  cli.stderr.isTTY = true;
  await execute(["compact"], cli);
  assert.equal(cli.err(), "compacting…\n");
});

test("doctor names a plugin's engine that cannot compact, and exits 0: it refuses no run", async () => {
  const folder = join(home, "engines");
  mkdirSync(folder);
  const plugin = join(folder, "noop.mjs");
  writeFileSync(
    plugin,
    `export default (api) => api.registerContextEngine("noop", () => ({
      info: { id: "noop", name: "Noop", interceptsCompaction: true },
      ingest: async () => ({ ingested: false }),
      assemble: async ({ messages }) => ({ messages, estimatedTokens: 0 }),
      compact: async () => ({ ok: true, compacted: false }),
    }));`,
  );
  writeFileSync(
    file,
    JSON.stringify({ plugins: { slots: { contextEngine: "noop" }, load: { paths: [plugin] } } }),
    { mode: 0o600 },
  );
  const { code, out } = await command(["doctor", "--json"], { env });
  assert.equal(code, 0);
  const findings = (JSON.parse(out) as { level: string; check: string; detail: string }[])
    .filter((finding) => finding.check === "engine" && finding.level === "warn")
    .map(({ detail }) => detail);
  assert.equal(findings.length, 2);
  assert.match(findings[0] ?? "", /^The engine noop does not own compaction and its compact\(\) is a no-op/);
  assert.match(findings[1] ?? "", /declares interceptsCompaction/);
});

test("context show and diff print receipts as text or JSON", async () => {
  const receipts = [
    receipt({ request: 0, parts: [part({ hash: "a" })] }),
    receipt({ request: 1, parts: [part({ hash: "a" }), part({ hash: "b" })], sharedParts: 1 }),
  ];
  const script = { receipts };
  const show = await command(["context", "show"], { script });
  assert.equal(show.out.match(/^Request \d of turn t1/gm)?.length, 2);
  assert.deepEqual(JSON.parse((await command(["context", "show", "--json"], { script })).out), receipts);
  const diff = JSON.parse((await command(["context", "diff", "--json"], { script })).out) as {
    prefixParts: number;
  };
  assert.equal(diff.prefixParts, 1);
  const none = await command(["context", "diff"]);
  assert.deepEqual([none.code, none.out], [1, ""]);
});

test("context preview passes prompt and budget on and prints the messages", async () => {
  const preview = (request: { prompt: string; budget?: number }) =>
    Promise.resolve({
      system: "You are here.",
      messages: [
        { role: "user" as const, content: `${request.prompt} ${String(request.budget)}`, entryId: "e7" },
      ],
      receipt: receipt({ parts: [] }),
    });
  const argv = ["context", "preview", "--prompt", "Next?", "--budget", "500"];
  const { out } = await command(argv, { script: { preview } });
  assert.match(out, /--- System\nYou are here\.\n\n--- You \(e7\)\nNext\? 500\n/);
  const json = JSON.parse((await command([...argv, "--json"], { script: { preview } })).out) as object;
  assert.deepEqual(Object.keys(json), ["system", "messages", "receipt"]);
});

test("context show of an unknown turn is an error that names it", async () => {
  const script = { receipts: [receipt({ parts: [] })] };
  const { code, err, out } = await command(["context", "show", "--turn", "nope"], { script });
  assert.deepEqual([code, out], [1, ""]);
  assert.match(err, /turn "nope".*\[entry_not_found\]\n$/);
});

test("context preview without a prompt shows the context before the next one", async () => {
  const preview = ({ prompt }: { prompt: string }) =>
    Promise.resolve({
      system: "You are here.",
      messages: [
        { role: "user" as const, content: "before", entryId: "e1" },
        { role: "user" as const, content: prompt, entryId: "preview" },
      ],
      receipt: receipt({ parts: [] }),
    });
  const { code, out } = await command(["context", "preview"], { script: { preview } });
  assert.equal(code, 0);
  assert.match(out, /--- You \(e1\)\nbefore\n\n--- The next prompt comes here/);
});

test("config get, set and unset work on the file and keep its comments", async () => {
  writeFileSync(file, "{\n  // mine\n  agents: { defaults: { model: 'a/b' } },\n}\n");
  assert.equal((await command(["config", "get", "agents.defaults.model"], { env })).out, "a/b\n");
  assert.equal((await command(["config", "get", "agents.defaults.model", "--json"], { env })).out, '"a/b"\n');
  assert.equal((await command(["config", "set", "agents.defaults.maxSteps", "7"], { env })).code, 0);
  assert.equal((await command(["config", "get", "agents.defaults.maxSteps"], { env })).out, "7\n");
  assert.equal((await command(["config", "unset", "agents.defaults.model"], { env })).code, 0);
  assert.match(readFileSync(file, "utf8"), /\/\/ mine/);
  const gone = await command(["config", "get", "agents.defaults.model"], { env });
  assert.equal(gone.code, 2);
  assert.match(gone.err, /\[config_key_unknown\]\n$/);
});

test("config set refuses an invalid value and leaves the file unchanged", async () => {
  writeFileSync(file, "{}\n");
  const { code, err } = await command(["config", "set", "agents.defaults.maxSteps", "many"], { env });
  assert.equal(code, 2);
  assert.match(err, /^pagurus: [^\n]+\[config_invalid\]\n$/);
  assert.equal(readFileSync(file, "utf8"), "{}\n");
});

test("config validate names a broken file with exit 2 and passes a good one", async () => {
  writeFileSync(file, "{ agents: ");
  assert.equal((await command(["config", "validate"], { env })).code, 2);
  writeFileSync(file, "{ somethingNew: 1 }");
  const warned = await command(["config", "validate"], { env });
  assert.equal(warned.code, 0);
  assert.match(warned.err, /warning: .*somethingNew/);
  rmSync(file);
  assert.match(
    (await command(["config", "validate"], { env })).out,
    /does not exist; the defaults are in use/,
  );
});

test("config validate refuses models that a run would refuse; a missing key is a warning", async () => {
  const validate = (config: unknown) => {
    writeFileSync(file, JSON.stringify(config));
    return command(["config", "validate"], { env });
  };
  const list = [
    { id: "main", model: { primary: "worse/y" } },
    { id: "b", model: "offline/extract" },
  ];
  const refused = await validate({ agents: { defaults: { model: "nope/x" }, list } });
  assert.equal(refused.code, 2);
  assert.match(refused.err, /agents\.defaults\.model: The model ref "nope\/x".*\[config_invalid\]/);
  assert.match(refused.out, /^agents\.list\[0\]\.model\.primary: The model ref "worse\/y"/m);
  const later = await validate({ agents: { defaults: { model: "openai/gpt-5" } } });
  assert.equal(later.code, 0);
  assert.match(later.err, /warning: agents\.defaults\.model: The provider "openai" needs a key/);
});

test("a model of a provider with an unknown api is refused with that key and its values", async () => {
  const lab = { api: "openai-chat", baseUrl: "http://127.0.0.1:9/v1", models: [{ id: "m" }] };
  const config = { models: { providers: { lab } }, agents: { defaults: { model: "lab/m" } } };
  writeFileSync(file, JSON.stringify(config));
  // The second time the verdict on the file is remembered.
  for (let time = 0; time < 2; time += 1) {
    const { code, err } = await command(["config", "validate"], { env });
    assert.equal(code, 2);
    assert.match(
      err,
      /The model "lab\/m" cannot be used: models\.providers\.lab\.api has a value that Pagurus does not know \(allowed: openai-responses, .*\); the provider is not used; correct it there\. \[config_invalid\]/,
    );
  }
});

test("config validate names a channel of a kind that nothing brings", async () => {
  const kinds = ["carrierpigeon", "discord", "irc"];
  const channels = Object.fromEntries(kinds.map((kind) => [kind, { kind }]));
  writeFileSync(file, JSON.stringify({ channels }));
  const { code, err } = await command(["config", "validate"], { env });
  assert.equal(code, 0);
  assert.match(
    err,
    /^warning: channels\.carrierpigeon\.kind is "carrierpigeon", and no plugin .*; use one of .*irc.*\.\n$/,
  );
});

test("config schema is JSON Schema", async () => {
  const schema = JSON.parse((await command(["config", "schema"])).out) as Record<string, unknown>;
  assert.equal(schema["type"], "object");
});

test("secrets are hidden in config get, references and files are not secrets", async () => {
  const providers = {
    openai: { apiKey: "sk-real", headers: { "X-Anything": "h" }, baseUrl: "https://me:pw@host/v1" },
    other: { apiKey: "${OTHER_KEY}" },
    third: { apiKey: { file: "/run/key" } },
  };
  writeFileSync(file, JSON.stringify({ models: { providers } }));
  const { out } = await command(["config", "get"], { env });
  for (const secret of ["sk-real", '"h"', "me:pw"]) assert.ok(!out.includes(secret), secret);
  for (const shown of ["${OTHER_KEY}", "/run/key", "https://(hidden)@host/v1"])
    assert.ok(out.includes(shown), shown);
  const one = await command(["config", "get", "models.providers.openai.apiKey"], { env });
  assert.equal(one.out, "(hidden)\n");
  const header = await command(["config", "get", "models.providers.openai.headers.X-Anything"], { env });
  assert.equal(header.out, "(hidden)\n");
  const open = await command(["config", "get", "models.providers.openai.apiKey", "--show-secrets"], { env });
  assert.equal(open.out, "sk-real\n");
  assert.deepEqual(hideSecrets({ maxTokens: 5, botToken: "x", tokenizer: "y" }), {
    maxTokens: 5,
    botToken: "(hidden)",
    tokenizer: "y",
  });
});

test("held lists what commands left, and moves or deletes it (pagurus held)", async () => {
  const root = mkdtempSync(join(tmpdir(), "pagurus-held-"));
  after(() => rmSync(root, { recursive: true }));
  const none = await command(["held", "list"], { env });
  assert.equal(none.out, "Nothing is held back.\n");
  const hold = (path: string): string => {
    writeFileSync(join(root, path), `of ${path}`);
    return holdBack(home, { root, command: "echo \u001b[31m" }, [
      { path: join(root, path), kind: "settings", before: undefined },
    ]).id;
  };
  const [first, second] = [hold(".envrc"), hold(".zshrc")];
  const list = await command(["held", "list"], { env });
  assert.match(list.out, new RegExp(`${first} [^]*\\.envrc: agents, editors or shells start from it`));
  assert.doesNotMatch(list.out, /\u001b/);
  const taken = await command(["held", "take", first], { env });
  assert.deepEqual([taken.code, readFileSync(join(root, ".envrc"), "utf8")], [0, "of .envrc"]);
  assert.equal((await command(["held", "drop", second], { env })).code, 0);
  assert.equal((await command(["held", "take", second], { env })).code, 2);
  assert.equal((await command(["held", "list", "--json"], { env })).out, "[]\n");
});
