import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ModelInfo } from "../../../packages/contract/src/model.ts";
import { UNKNOWN_MODEL } from "../../../packages/core/src/model/model-catalog.ts";
import {
  answeredCost,
  describeAsk,
  estimatedCost,
} from "../../../packages/core/src/model/surfaces/surface-cost.ts";

function model(prices: Partial<ModelInfo>): ModelInfo {
  return {
    ...UNKNOWN_MODEL,
    ref: "lab/m",
    provider: "lab",
    id: "m",
    api: "openai-completions",
    ...prices,
  };
}

/** Of `seconds` in WAV: 16,000 samples of two bytes a second. */
function wave(seconds: number): { bytes: number; start: Buffer } {
  const start = Buffer.alloc(44);
  start.write("RIFF", 0, "latin1");
  start.write("WAVEfmt ", 8, "latin1");
  start.writeUInt32LE(32_000, 28);
  return { bytes: seconds * 32_000, start };
}

describe("the cost of a request to a direct surface", () => {
  it("is that of the tokens which the answer counts", () => {
    const info = model({ cost: { input: 2, output: 10 } });
    const ask = { surface: "embeddings", texts: ["a crab"] } as const;
    assert.equal(answeredCost(info, ask, { inputTokens: 1_000_000 }), 2);
    assert.equal(answeredCost(info, ask, { inputTokens: 500_000, outputTokens: 100_000 }), 2);
  });

  it("is that of images, minutes and characters where a price is for those", () => {
    const info = model({ unitCost: { request: 0.001, image: 0.04, minute: 0.006, millionCharacters: 15 } });
    const near = (cost: number | undefined, expected: number): void =>
      assert.ok(cost !== undefined && Math.abs(cost - expected) < 1e-9, `${cost} is ${expected}`);
    near(answeredCost(info, { surface: "images", texts: ["x"], images: 2 }, {}), 0.081);
    near(answeredCost(info, { surface: "images", texts: ["x"], images: 2 }, { images: 1 }), 0.041);
    near(answeredCost(info, { surface: "speech", texts: ["x".repeat(1_000)] }, {}), 0.016);
    const transcript = { surface: "transcription", texts: [], sound: wave(120) } as const;
    near(answeredCost(info, transcript, { seconds: 60 }), 0.007);
    near(estimatedCost(info, transcript), 0.013);
    near(answeredCost(info, transcript, {}), 0.013);
  });

  it("is the estimate for an answer that counts nothing, so that a limit cannot be passed by", () => {
    const info = model({ cost: { input: 2, output: 10 } });
    const ask = { surface: "images", texts: ["a crab"], images: 3 } as const;
    const estimate = estimatedCost(info, ask);
    assert.ok(estimate !== undefined && estimate > 3 * 0.04);
    assert.equal(answeredCost(info, ask, {}), estimate);
  });

  it("is unknown without a price, and zero for a free model", () => {
    const ask = { surface: "speech", texts: ["x"] } as const;
    assert.equal(estimatedCost(model({}), ask), undefined);
    assert.equal(answeredCost(model({}), ask, {}), undefined);
    assert.equal(estimatedCost(model({ cost: { input: 0, output: 0 } }), ask), 0);
  });

  it("is named by its units", () => {
    const info = model({});
    assert.equal(describeAsk(info, { surface: "images", texts: [], images: 2 }), "2 images of lab/m");
    assert.equal(
      describeAsk(info, { surface: "speech", texts: ["four"] }),
      "4 characters of speech of lab/m",
    );
    assert.equal(
      describeAsk(info, { surface: "transcription", texts: [], sound: wave(3) }),
      "3 s of sound for lab/m",
    );
  });
});
