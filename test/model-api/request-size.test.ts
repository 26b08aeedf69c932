/** Conversations with too many messages, and messages with too much data of images: refused before they are read. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { ApiBench } from "./setting.ts";

const PATHS = ["/chat/completions", "/messages", "/responses"];

describe("a conversation of the model API", () => {
  let bench: ApiBench;
  before(async () => {
    bench = await ApiBench.open("openai-completions", () => ({ text: "ok" }));
  });
  after(async () => {
    await bench.end();
  });

  function bodyOf(path: string, model: string, messages: object[]): object {
    if (path === "/responses") return { model, input: messages };
    return { model, max_tokens: 100, messages };
  }

  it("with more than 5,000 messages is refused as one that is too long for the model, so that clients compact", async () => {
    const messages = Array.from({ length: 5_001 }, (_, at) => ({
      role: at % 2 === 0 ? "user" : "assistant",
      content: "a",
    }));
    for (const model of ["test/model", "agent/main"])
      for (const path of PATHS) {
        const { status, text } = await bench.post(path, bodyOf(path, model, messages));
        assert.equal(status, 400, `${path}: ${text.slice(0, 300)}`);
        assert.match(text, /5001 messages/, path);
        assert.match(text, path === "/messages" ? /prompt is too long/ : /context_length_exceeded/, path);
      }
    assert.equal(bench.model.requests.length, 0);
  });

  it("with more than 8 MiB of images in one message is refused", async () => {
    const url = `data:image/png;base64,${"A".repeat(9 * 2 ** 20)}`;
    const parts: Record<string, object> = {
      "/chat/completions": { type: "image_url", image_url: { url } },
      "/messages": { type: "image", source: { type: "base64", media_type: "image/png", data: url } },
      "/responses": { type: "input_image", image_url: url },
    };
    for (const path of PATHS) {
      const { status, text } = await bench.post(
        path,
        bodyOf(path, "test/model", [{ role: "user", content: [parts[path] ?? {}] }]),
      );
      assert.equal(status, 413, `${path}: ${text.slice(0, 300)}`);
      assert.match(text, /message 0/);
    }
    assert.equal(bench.model.requests.length, 0);
  });
});
