/** Requests at the model's endpoint before and after the engine's database was deleted. Each turn is a process. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, test } from "node:test";
import { startServer, type ModelServer, type RecordedRequest, type ReplyStep } from "../servers/server.ts";
import { finish, makeSetting, modelConfig, run, type Setting } from "./setting.ts";
import { readBody, type WireMessage } from "./wire-bodies.ts";

const PROTOCOL = "openai-completions";
const SUMMARY = ["Goal", "State", "Decisions and constraints", "Open asks"]
  .map((heading) => `## ${heading}\n- The MODEL says: the berths are looked after.`)
  .join("\n");

function words(number: number): string {
  const goods = ["ropes", "cranes", "lanterns", "anchors", "sails", "crabs"];
  const list = Array.from({ length: 220 }, (_, index) => goods[(index * number + number) % goods.length]);
  return `Quay ${number} has berth b-${number}7${number}x and keeps ${list.join(" ")}.`;
}

/** A summarizer's request has no tools. */
function isSummary({ body }: RecordedRequest): boolean {
  return !Array.isArray(body["tools"]);
}

function reply(request: RecordedRequest): ReplyStep {
  if (!isSummary(request)) return { text: "Noted." };
  const named = /these (?:changed files|exact strings): ([^"\\]*)/g;
  const asked = Array.from(request.text.matchAll(named), ([, list]) => list);
  return { text: `${SUMMARY}\n${asked.join(", ")}` };
}

let server: ModelServer | undefined;
let setting: Setting | undefined;
async function prepare(): Promise<{ server: ModelServer; setting: Setting }> {
  server = await startServer({ protocol: PROTOCOL, script: reply });
  setting = makeSetting(
    modelConfig(
      PROTOCOL,
      server.url,
      {},
      {
        plugins: {
          slots: { contextEngine: "lossless" },
          entries: {
            lossless: { config: { trigger: 2_500, headTokens: 700, tailTokens: 500, recall: false } },
          },
        },
      },
    ),
  );
  return { server, setting };
}

async function say(at: Setting, prompt: string): Promise<void> {
  const { code, stderr } = await run(at, prompt);
  assert.equal(code, 0, stderr);
}

/** What the model saw at the newest request of a turn, but for the input. */
function seen(at: ModelServer): { before: WireMessage[]; summaries: number } {
  const turns = at.requests.filter((request) => !isSummary(request));
  const last = turns.at(-1);
  assert.ok(last);
  return {
    before: readBody(PROTOCOL, last).messages.slice(0, -1),
    summaries: at.requests.length - turns.length,
  };
}

function agentDir({ home }: Setting): string {
  return join(home, "agents", "main");
}

function loseDatabase(at: Setting): void {
  for (const name of readdirSync(agentDir(at)))
    if (name.startsWith("lossless.db")) rmSync(join(agentDir(at), name));
  assert.equal(existsSync(join(agentDir(at), "lossless.db")), false);
}

/** Takes the last turn back, asks again with the same words, and returns what the model saw. */
async function askAgain(at: Setting, server: ModelServer): Promise<ReturnType<typeof seen>> {
  const undone = await finish(at, ["chat"], "/undo\n");
  assert.equal(undone.code, 0, undone.stderr);
  await say(at, "What is at quay 3?");
  return seen(server);
}

describe("a session whose lossless database is lost", () => {
  afterEach(async () => {
    await server?.close();
    setting?.remove();
  });

  test("without its database the same turn sends the same bytes, and no summary is paid again", async () => {
    const { server, setting } = await prepare();
    for (let number = 1; number <= 3; number += 1) await say(setting, words(number));
    await say(setting, "Quay 4 has berth b-474x.");
    const pinned = await finish(setting, ["chat"], "/pin\n");
    assert.match(pinned.stdout + pinned.stderr, /Pinned \w+: "Quay 4 has/);
    for (let number = 5; number <= 12; number += 1) await say(setting, words(number));
    const maintained = await finish(setting, ["lossless", "work"]);
    assert.equal(maintained.code, 0, maintained.stderr);
    await say(setting, "What is at quay 3?");
    const withIt = seen(server);
    const text = JSON.stringify(withIt.before);
    assert.match(text, /conversation_summary/);
    assert.match(text, /b-474x/);
    assert.ok(withIt.summaries > 0, "a model wrote summaries");

    loseDatabase(setting);
    const without = await askAgain(setting, server);
    assert.deepEqual(without.before, withIt.before);
    assert.equal(without.summaries, withIt.summaries);
    const pins = await finish(setting, ["chat"], "/pins\n");
    assert.match(pins.stdout + pins.stderr, /user {2}"Quay 4 has/);
  });
});
