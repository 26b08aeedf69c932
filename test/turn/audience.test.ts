/** Turns whose answers others read: what they are shown and can do, at the requests that reach the model. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { Pagurus } from "../../packages/contract/src/host/host.ts";
import type { RunRequest } from "../../packages/contract/src/host/run.ts";
import type { ReplyStep } from "../servers/server.ts";
import { Bench } from "./in-process.ts";
import { modelConfig } from "./setting.ts";
import { longTest } from "../runner/long-tests.ts";

const SECRET = "The lighthouse key is under the third barrel.";
const NOTE = "The harbour master owes us a lantern.";
const CHAT_TOOLS = ["context_describe", "context_expand", "context_pin", "context_search"];

describe("a turn whose answers others read", () => {
  let bench: Bench;
  let call: ReplyStep["toolCalls"];
  let pagurus: Pagurus;

  beforeEach(async () => {
    call = undefined;
    bench = await Bench.with(() => {
      const step: ReplyStep = call ? { text: "I look.", toolCalls: call } : { text: "Aye." };
      call = undefined;
      return step;
    });
    writeFileSync(join(bench.root, "MEMORY.md"), `# Notes\n\n- ${NOTE}\n`);
    pagurus = await bench.host({
      more: {
        config: modelConfig(
          "openai-completions",
          bench.server.url,
          {},
          {
            plugins: { slots: { contextEngine: "lossless" } },
          },
        ),
      },
    });
    await ask({ prompt: SECRET, sessionKey: "main" });
  });
  afterEach(() => bench.end());

  async function ask(request: RunRequest): Promise<string> {
    for await (const event of pagurus.run({ cwd: bench.root, ...request }))
      assert.notEqual(event.type, "turn.failed");
    return bench.server.requests.at(-1)?.text ?? "";
  }

  function search(scope: string): ReplyStep["toolCalls"] {
    return [{ id: "c1", name: "context_search", arguments: { query: "lighthouse key", scope } }];
  }

  for (const audience of ["group", "strangers"] as const)
    longTest(`finds nothing of other sessions, and has no notes of the owner: ${audience}`, async () => {
      const first = await ask({ prompt: "Where is it?", sessionKey: "crew", audience });
      assert.doesNotMatch(first, /harbour master|memory_search/);
      for (const scope of ["folder", "agent", "all"]) {
        call = search(scope);
        const answered = await ask({ prompt: `Look in ${scope}.`, sessionKey: "crew", audience });
        assert.match(answered, /only this session can be searched/);
        assert.doesNotMatch(answered, /third barrel/);
      }
      const [hit] = pagurus.sessions().search("lighthouse", { sessionKey: "main" });
      assert.ok(hit);
      call = [{ id: "c2", name: "context_expand", arguments: { id: hit.entryId } }];
      assert.doesNotMatch(await ask({ prompt: "Open it.", sessionKey: "crew", audience }), /third barrel/);
    });

  it("has no tools but the engine's where a stranger asks", async () => {
    await ask({ prompt: "Read the notes.", sessionKey: "crew", audience: "strangers" });
    const body = bench.server.requests.at(-1)?.body;
    const tools = (body?.["tools"] ?? []) as { function: { name: string } }[];
    const names = tools.map((tool) => tool.function.name);
    assert.deepEqual(new Set(names), new Set(CHAT_TOOLS));
    call = [{ id: "c1", name: "read", arguments: { path: "MEMORY.md" } }];
    const answered = await ask({ prompt: "Read it.", sessionKey: "crew", audience: "strangers" });
    assert.doesNotMatch(answered, /harbour master/);
  });

  it("is the owner's alone without an audience: it finds other sessions, and has the notes", async () => {
    assert.match(await ask({ prompt: "Where?", sessionKey: "mine" }), /harbour master/);
    for (const scope of ["agent", "all"]) {
      call = search(scope);
      assert.match(await ask({ prompt: `Look in ${scope}.`, sessionKey: "mine" }), /third barrel/);
    }
  });
});
