/** The search of a folder's conversations, through the host. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunRequest } from "../../packages/contract/src/host/run.ts";
import type { ReplyStep } from "../servers/server.ts";
import { Bench } from "./in-process.ts";
import { modelConfig } from "./setting.ts";

test("a search of the folder finds its older conversations of the same key, and no session with a chosen key", async () => {
  let call: ReplyStep["toolCalls"];
  const bench = await Bench.with(() => {
    const step: ReplyStep = call ? { text: "I look.", toolCalls: call } : { text: "Aye." };
    call = undefined;
    return step;
  });
  try {
    const more = { plugins: { slots: { contextEngine: "lossless" } }, session: { scope: "folder" } };
    const config = modelConfig("openai-completions", bench.server.url, {}, more);
    const pagurus = await bench.host({ more: { config } });
    const ask = async (request: RunRequest): Promise<string> => {
      let key = "";
      for await (const event of pagurus.run({ cwd: bench.root, ...request })) {
        assert.notEqual(event.type, "turn.failed");
        if (event.type === "turn.started") key = event.sessionKey;
      }
      return key;
    };
    const key = await ask({ prompt: "The vault of the archive has the code Zebra." });
    await ask({ prompt: "The vault of the harbour has the code Otter.", sessionKey: "chosen" });
    pagurus.sessions().renew(key, { cwd: bench.root });
    assert.equal(await ask({ prompt: "Good morning." }), key);
    call = [{ id: "c1", name: "context_search", arguments: { query: "vault code", scope: "folder" } }];
    assert.equal(await ask({ prompt: "Please look." }), key);
    const answered = bench.server.requests.at(-1)?.text ?? "";
    assert.equal(answered.split("code Zebra").length, 2);
    assert.doesNotMatch(answered, /Otter/);
  } finally {
    await bench.end();
  }
});
