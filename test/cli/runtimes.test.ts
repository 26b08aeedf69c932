import assert from "node:assert/strict";
import { test } from "node:test";
import type { RuntimeExplanation, RuntimeFact } from "../../packages/contract/src/harness/runtimes.ts";
import { command } from "./fake-cli.ts";

const WHY = "Codex was found nowhere.";

const embedded: RuntimeFact = {
  id: "embedded",
  label: "Loop",
  aliases: ["pi"],
  family: "embedded",
  execution: "in-process",
  seam: "embedded",
  capabilities: [],
  runs: { model: "openai/m", supported: true },
};
const codex: RuntimeFact = {
  ...embedded,
  id: "codex",
  label: "Codex",
  aliases: [],
  execution: "child-process",
  seam: "thread",
  runs: { model: "openai/m", supported: false, reason: WHY },
  program: { problem: WHY },
};
const explained: RuntimeExplanation = {
  model: "openai/m",
  writtenAs: "codex/m",
  agentId: "work",
  runtime: {
    ...embedded,
    rule: "compatibility",
    source: "compatibility runtime",
    why: WHY,
  },
  steps: [
    { rule: "run", source: "the run itself", outcome: "absent" },
    { rule: "default-model", source: "agents.defaults.models", outcome: "auto", detail: "auto" },
    { rule: "provider", source: "models.providers.openai", outcome: "unasked", detail: "codex" },
    { rule: "claim", source: "a claim of codex", outcome: "declined", detail: WHY },
    { rule: "compatibility", source: "compatibility runtime", outcome: "chosen", detail: "embedded" },
  ],
  ignored: ["agents.defaults.agentRuntime is ignored."],
};

function script(changes: Partial<RuntimeExplanation> = {}) {
  const asked: unknown[] = [];
  return {
    asked,
    runtimes: {
      list: (request?: unknown) => {
        asked.push(request);
        return Promise.resolve([embedded, codex]);
      },
      explain: (request?: unknown) => {
        asked.push(request);
        return Promise.resolve({ ...explained, ...changes });
      },
    },
  };
}

test("runtimes list is a table, and reports why a runtime cannot run the model, once", async () => {
  const { asked, ...rest } = script();
  const { code, out } = await command(["runtimes", "list", "-m", "openai/m", "--programs"], { script: rest });
  assert.equal(code, 0);
  assert.deepEqual(asked, [{ model: "openai/m", programs: true }]);
  assert.deepEqual(out.trimEnd().split("\n"), [
    "Runtime   Runs openai/m  Family    Execution      Seam      Name",
    "embedded  yes            embedded  in-process     embedded  Loop (also pi)",
    "codex     no             embedded  child-process  thread    Codex",
    `codex: ${WHY}`,
  ]);
});

test("runtimes list --programs names a version that the runtime was not made for", async () => {
  const drift = "Codex 0.1.2 runs, and Pagurus was made for another; if turns fail, install that version.";
  const program = { program: "/bin/codex", version: "0.1.2", login: "not logged in", drift };
  const runtimes = { ...script().runtimes, list: () => Promise.resolve([{ ...codex, program }]) };
  const { out } = await command(["runtimes", "list", "--programs"], { script: { runtimes } });
  assert.match(out, /^codex: \/bin\/codex, version 0\.1\.2, not logged in$/m);
  assert.ok(out.includes(`codex: ${drift}`), out);
});

test("runtimes explain fits one screen: the answer, the reason, every rule", async () => {
  const { asked, ...rest } = script();
  const { code, out } = await command(["runtimes", "explain", "codex/m", "--agent", "work"], {
    script: rest,
  });
  assert.equal(code, 0);
  assert.deepEqual(asked, [{ model: "codex/m", agentId: "work" }]);
  assert.deepEqual(out.trimEnd().split("\n"), [
    "openai/m (written as codex/m) for the agent work runs in embedded.",
    "Runtime:   Loop; in-process; seam embedded",
    "Chosen by: compatibility runtime",
    `Because:   ${WHY}`,
    "",
    "Rules in order; the first that names a runtime decides:",
    "  · the run itself           nothing",
    "  → agents.defaults.models   auto: claims decide",
    "  · models.providers.openai  codex, not asked",
    "  ✗ a claim of codex         declined, see above",
    "  ✓ compatibility runtime    embedded",
    "",
    "Not considered:",
    "  agents.defaults.agentRuntime is ignored.",
  ]);
});

test("runtimes explain ends as the refused run would", async () => {
  const { runtime: _none, ...without } = explained;
  const refused = { ...without, problem: { code: "runtime_unsupported", message: "It cannot." } };
  const rest = { runtimes: { ...script().runtimes, explain: () => Promise.resolve(refused) } };
  const { code, out } = await command(["runtimes", "explain"], { script: rest });
  assert.equal(code, 2);
  assert.match(out, /^A run would be refused: It cannot\. \[runtime_unsupported\]$/m);
  const json = await command(["runtimes", "explain", "--json"], { script: rest });
  assert.deepEqual(JSON.parse(json.out), refused);
});

test("runtimes test refuses a program whose model no suite can set", async () => {
  const { code, err } = await command(["runtimes", "test", "droid"], { script: script() });
  assert.notEqual(code, 0);
  assert.match(err, /No suite can try droid, since its model is only set in its own settings/);
});
