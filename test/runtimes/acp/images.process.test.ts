/** Images of earlier turns in the prompt of a new native session. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type { RunRequest } from "../../../packages/contract/src/host/run.ts";
import { degraded, hostOf, prompts, setUp, tearDown, turn } from "./agent-bench.ts";

/** Passes the history on, with another epoch for each turn, so that each begins a new session. */
function newEpochs(): ContextEngine {
  let count = 0;
  return {
    info: { id: "epochs", name: "Epochs" },
    ingest: async () => ({ ingested: true }),
    assemble: async ({ messages }) => ({
      messages,
      estimatedTokens: 0,
      contextProjection: { mode: "thread_bootstrap" as const, epoch: `e${(count += 1)}` },
    }),
    compact: async () => ({ ok: true, compacted: false }),
  };
}

const PICTURE: Partial<RunRequest> = {
  parts: [{ type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" }],
};

describe("an image of an earlier turn", () => {
  beforeEach(setUp);
  afterEach(tearDown);
  it("is sent again to an agent that takes images, with the number that the text has for it", async () => {
    const host = await hostOf({ way: "images", engine: newEpochs() });
    await turn(host, "What is this?", PICTURE);
    const events = await turn(host, "And its colour?");
    const [first, second] = prompts();
    assert.deepEqual(first?.slice(-2), ["What is this?", "iVBORw0KGgo="]);
    assert.match(second?.join("\n") ?? "", /What is this\?\n\[image 1\]/);
    assert.deepEqual(second?.slice(-4), [
      "[image 1]",
      "iVBORw0KGgo=",
      "Current user request:",
      "And its colour?",
    ]);
    assert.deepEqual(degraded(events, "projection"), []);
  });

  it("is only named to an agent without images, which is reported", async () => {
    const host = await hostOf({ engine: newEpochs() });
    const before = await turn(host, "What is this?", PICTURE);
    const events = await turn(host, "And its colour?");
    assert.match(
      degraded(before, "projection").join("\n"),
      /takes no images, so 1 of the input was left out/,
    );
    assert.doesNotMatch(JSON.stringify(prompts()), /iVBORw0KGgo/);
    assert.match(prompts()[1]?.join("\n") ?? "", /\[image 1, not shown\]/);
    assert.match(
      degraded(events, "projection").join("\n"),
      /1 image of earlier messages is only named in the text/,
    );
  });
});
