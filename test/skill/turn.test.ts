/** Skills and plans in whole turns, at the model's endpoint. */
import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import type { TurnEvent } from "../../packages/contract/src/host/events.ts";
import type { AgentHarness } from "../../packages/contract/src/harness/harness.ts";
import { HARNESS_CONTRACT } from "../../packages/contract/src/version.ts";
import { countExact } from "../../packages/core/src/tokens/exact.ts";
import { Bench, words } from "../turn/in-process.ts";
import { modelConfig } from "../turn/setting.ts";
import { startWith } from "../turn/start-with.ts";

type ToolCall = { id: string; name: string; arguments: Record<string, unknown> };

/** Tool calls of the model in the first request of each turn that contains none of their results. */
let calls: ToolCall[] = [];
const bench = await Bench.with(() => {
  const now = calls;
  calls = [];
  return now.length > 0 ? { toolCalls: now } : { text: "done" };
});
after(() => bench.end());

function skill(folder: string, name: string, description = `Does ${name}.`): void {
  mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(
    join(folder, name, "SKILL.md"),
    `---\nname: ${name}\ndescription: ${description}\n---\nSTEPS OF ${name}\n`,
  );
}

const work = join(bench.root, "work");
const empty = join(bench.root, "empty");
for (const folder of [work, empty]) mkdirSync(folder);

/** Results in the order of the calls' ids. */
function results(events: readonly TurnEvent[]): string[] {
  return events
    .flatMap((event) =>
      event.type === "message" && event.message.role === "toolResult" ? [event.message] : [],
    )
    .toSorted((a, b) => (a.toolCallId < b.toolCallId ? -1 : 1))
    .map(words);
}

test("without skills the instructions have no section; with skills they name them from the next turn on, with the same bytes", async () => {
  const host = await bench.host();
  await bench.ask(host, "one", { cwd: work });
  assert.doesNotMatch(bench.body(-1).system, /[Ss]kill/);
  skill(join(work, ".agents/skills"), "here");
  skill(join(bench.root, "home/skills"), "mine");
  await bench.ask(host, "two", { cwd: work });
  const { system } = bench.body(-1);
  assert.match(
    system,
    /^- mine: Does mine\. \(\/.*home\/skills\/mine\/SKILL\.md\)\n- here: Does here\. \(\.agents\/skills\/here\/SKILL\.md\)$/m,
  );
  await bench.ask(host, "three", { cwd: work });
  assert.equal(bench.body(-1).system, system);
  assert.ok((await host.context.preview({ prompt: "four", cwd: work })).system.includes("- here: "));
  assert.deepEqual(
    (await host.skills({ cwd: work })).skills.map(({ name, state }) => [name, state]),
    [
      ["mine", "offered"],
      ["here", "offered"],
      ["choose-runtime", "on-demand"],
    ],
  );
});

test("the folders of skills are read without a permission prompt, and no folder next to them", async () => {
  const home = join(bench.root, "home");
  skill(join(home, "skills"), "off");
  writeFileSync(join(home, "secret.txt"), "SECRET");
  const skills = { entries: { off: { enabled: false } } };
  const host = await bench.host({ defaults: { permission: { mode: "deny" } } });
  const read = (id: string, path: string): ToolCall => ({ id, name: "read", arguments: { path } });
  const paths = ["skills/mine/SKILL.md", "skills/off/SKILL.md", "secret.txt", "skills/mine/../../secret.txt"];
  calls = paths.map((path, index) => read(`c${index}`, join(home, path)));
  calls.push({ id: "w", name: "write", arguments: { path: join(home, "skills/mine/x"), content: "" } });
  const [mine, off, ...others] = results(await bench.ask(host, "read", { cwd: empty, sessionKey: "read" }));
  assert.match(mine ?? "", /STEPS OF mine/);
  assert.match(off ?? "", /STEPS OF off/, "offered in this configuration");
  assert.equal(others.length, 3);
  for (const other of others) assert.match(other, /Permission denied/);

  const deny = { agents: { defaults: { permission: { mode: "deny" } } } };
  const config = modelConfig("openai-completions", bench.server.url, {}, { ...deny, skills });
  const strict = await bench.host({ more: { config } });
  calls = [read("d", join(home, "skills/off/SKILL.md"))];
  const [refused] = results(await bench.ask(strict, "read", { cwd: empty, sessionKey: "read" }));
  assert.match(refused ?? "", /Permission denied/);
});

test("the host's instructions and tools stay below 3,000 tokens with more skills than fit", async () => {
  const folder = join(bench.root, "home/skills");
  for (let n = 100; n < 160; n++) skill(folder, `many-${n}`, "words that say when it is used. ".repeat(20));
  const host = await bench.host();
  const before = bench.server.requests.length;
  await bench.ask(host, "go", { sessionKey: "many" });
  const { messages, tools } = (bench.server.requests[before]?.body ?? {}) as Record<string, unknown[]>;
  const tokens = await countExact(JSON.stringify([messages?.[0], tools]));
  assert.ok(tokens !== undefined && tokens < 3_000 && tokens > 1_500, `${tokens}`);
  for (let n = 100; n < 160; n++) rmSync(join(folder, `many-${n}`), { recursive: true });
});

test("a plan is an event, an entry of the transcript and a line of the status; invalid plans are refused", async () => {
  const host = await bench.host();
  const plan = (id: string, steps: unknown[], more = {}): ToolCall => ({
    id,
    name: "update_plan",
    arguments: { plan: steps, ...more },
  });
  const look = { step: "look", status: "completed" };
  calls = [plan("p1", [look, { step: "write", status: "in_progress" }], { explanation: "Two steps." })];
  const events = await bench.ask(host, "plan it", { sessionKey: "plan", permission: "read-only" });
  const steps = [
    { step: "look", status: "completed" },
    { step: "write", status: "inProgress" },
  ];
  assert.deepEqual(
    events.filter(({ type }) => type === "plan.updated"),
    [{ type: "plan.updated", explanation: "Two steps.", steps }],
  );
  const status = await host.status({ sessionKey: "plan", cwd: bench.root });
  assert.deepEqual([status.plan?.steps, status.plan?.explanation], [steps, "Two steps."]);
  assert.equal((await host.status({ sessionKey: "other", cwd: bench.root })).plan, undefined);

  calls = [plan("p2", [{ step: "x", status: "doing" }]), plan("p3", [{ step: " ", status: "pending" }])];
  const refused = await bench.ask(host, "again", { sessionKey: "plan" });
  assert.equal(
    refused.some(({ type }) => type === "plan.updated"),
    false,
  );
  assert.match(results(refused).join("\n"), /must be one of[^]*A step of the plan is empty/);
  assert.deepEqual((await host.status({ sessionKey: "plan", cwd: bench.root })).plan, status.plan);
});

test("a runtime with skills or a plan tool of its own does not get ours; its plan is stored in the same way", async () => {
  const offered: string[] = [];
  let instructions = "";
  const planner: AgentHarness = {
    id: "planner",
    label: "Planner",
    contract: HARNESS_CONTRACT,
    execution: { kind: "in-process" },
    seam: "embedded",
    capabilities: ["bootstrap", "assemble-before-prompt", "after-turn", "maintain", "compact"],
    nativeTools: ["update_plan"],
    nativeSkills: [".agents/skills"],
    supports: () => ({ supported: true }),
    start: startWith(async (turn) => {
      ({ instructions } = turn);
      offered.push(...turn.tools.specs.map(({ name }) => name));
      await turn.context.assemble();
      await turn.io.emit({ type: "plan.updated", steps: [{ step: "mine", status: "pending" }] });
      return { stopReason: "stop", usage: { input: 1, output: 1, totalTokens: 2 } };
    }),
  };
  const host = await bench.host({ more: { harnesses: [planner] } });
  const events = await bench.ask(host, "go", { sessionKey: "own", runtime: "planner", cwd: work });
  assert.match(instructions, /^- mine: /m);
  assert.doesNotMatch(instructions, /^- here: /m);
  assert.equal(events.filter(({ type }) => type === "plan.updated").length, 1);
  assert.deepEqual([offered.includes("read"), offered.includes("update_plan")], [true, false]);
  const { plan } = await host.status({ sessionKey: "own", cwd: bench.root });
  assert.deepEqual(plan?.steps, [{ step: "mine", status: "pending" }]);
});
