/**
 * Additional context on Claude Code: sent before the user's message, once while it stays the same; several sessions in
 * parallel.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { AdditionalContext } from "../../../packages/contract/src/fragment.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import { ClaudeBench, conversation, type Line } from "./claude-bench.ts";

let bench: ClaudeBench;
let pagurus: Pagurus;

before(async () => {
  bench = await ClaudeBench.with((request, index) => {
    const isFirst = conversation(request).at(-1) === "user: Work.";
    const call = { id: `toolu_${index}`, name: "Bash", arguments: { command: "sleep 0.2" } };
    return isFirst ? { toolCalls: [call] } : { text: "Fine." };
  });
  pagurus = await bench.host();
});

after(async () => {
  await bench.end();
  await bench.nothingLeft();
});

function tab(value: string): AdditionalContext {
  return { tab: { value, kind: "untrusted" }, rule: { value: "Be short.", kind: "application" } };
}

/** In the order of their keys. */
const OPEN = ["user: <rule>Be short.</rule>", "user: <external_tab>Open.</external_tab>"];
const CLOSED = "user: <external_tab>Closed.</external_tab>";

async function shown(prompt: string, additionalContext: AdditionalContext): Promise<Line[]> {
  await bench.ask(pagurus, prompt, { sessionKey: "fragments", additionalContext });
  return conversation(bench.request(-1));
}

describe("Additional context", { timeout: 240_000 }, () => {
  it("is sent before the message that it came with, and again only when it has changed", async () => {
    const first = [...OPEN, "user: One?"];
    assert.deepEqual(await shown("One?", tab("Open.")), first);
    const second = [...first, "assistant: Fine.", "user: Two?"];
    assert.deepEqual(await shown("Two?", tab("Open.")), second);
    const third = [...second, "assistant: Fine.", CLOSED, "user: Three?"];
    assert.deepEqual(await shown("Three?", tab("Closed.")), third);
    const ids = bench.server.requests.map(({ headers }) => headers["x-claude-code-session-id"]);
    assert.equal(new Set(ids).size, 1, "in one native session");
    await pagurus.close();
    pagurus = await bench.host();
    const fourth = [...third, "assistant: Fine.", "user: Four?"];
    assert.deepEqual(await shown("Four?", tab("Closed.")), fourth, "and in another host");
  });

  it("comes with steering, before its text, and stays there", async () => {
    const request = { sessionKey: "steered", cwd: bench.cwd, additionalContext: tab("Open.") };
    const run = pagurus.run({ prompt: "Work.", ...request });
    for await (const { type } of run)
      if (type === "tool.started") run.steer("Faster.", { additionalContext: tab("Closed.") });
    const lines = conversation(bench.request(-1));
    assert.deepEqual(lines.slice(-2), [CLOSED, "user: Faster."]);
    const from = bench.server.requests.length;
    await bench.ask(pagurus, "And?", { ...request, additionalContext: tab("Closed.") });
    assert.deepEqual(conversation(bench.request(from)), [...lines, "assistant: Fine.", "user: And?"]);
  });
});

describe("Sessions at the same time", { timeout: 240_000 }, () => {
  it("do not disturb each other, and few processes wait for their next turn", async () => {
    const keys = ["a", "b", "c", "d"];
    for (const word of ["First", "Second"])
      await Promise.all(keys.map((key) => bench.ask(pagurus, `${word} of ${key}.`, { sessionKey: key })));
    const last = bench.server.requests.slice(-keys.length).map(conversation);
    for (const key of keys)
      assert.ok(
        last.some(
          (lines) => lines.join("\n") === `user: First of ${key}.\nassistant: Fine.\nuser: Second of ${key}.`,
        ),
      );
    for (let look = 0; bench.programs().length > 2; look += 1) {
      assert.ok(look < 200, "ended");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });
});
