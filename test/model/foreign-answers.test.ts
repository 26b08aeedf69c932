/** Answers as real servers send them (`test/protocols/examples`), at the door of the loop: each is paid for once. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import type { WireApi } from "../../packages/contract/src/harness/wire.ts";
import { toPagurusError } from "../../packages/contract/src/errors.ts";
import type { ModelPart } from "../../packages/core/src/model/provider-types.ts";
import { API, collect, modelAt, PROTOCOLS, textOf } from "./calling.ts";

interface Example {
  file: string;
  api: WireApi;
  status?: number;
  text?: string;
  thinking?: string;
  refusal?: string;
  calls?: [name: string, args: Record<string, unknown>][];
  /** Pattern of the words of the error. */
  words?: string;
}

const FOLDER = new URL("../protocols/examples/", import.meta.url);
const EXAMPLES = JSON.parse(readFileSync(new URL("right.json", FOLDER), "utf8")) as Example[];

/** Serves the bytes to each request; returns the parts or the error, and the number of requests. */
async function called(
  { api, status = 200 }: Pick<Example, "api" | "status">,
  bytes: Buffer,
  type: string,
): Promise<{ parts: ModelPart[]; error?: Error; asked: number }> {
  let asked = 0;
  const server = createServer((request, response) => {
    asked += 1;
    request.resume();
    response.writeHead(status, { "content-type": type }).end(bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const protocol = PROTOCOLS.find((name) => API[name] === api);
  assert.ok(protocol);
  try {
    const { parts } = await collect(modelAt(url, protocol), { retry: { attempts: 3, baseMs: 1, maxMs: 2 } });
    return { parts, asked };
  } catch (error) {
    return { parts: [], error: toPagurusError(error), asked };
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

function streamed(parts: readonly ModelPart[], type: "text" | "thinking"): string {
  return parts.map((part) => (part.type === type ? part.delta : "")).join("");
}

describe("an answer as real servers send it, through the loop", () => {
  for (const example of EXAMPLES) {
    const { file, text = "", thinking = "", calls = [], words, refusal } = example;
    it(`${file} has its right value`, async () => {
      const type = file.endsWith(".sse") ? "text/event-stream" : "application/json";
      const { parts, error, asked } = await called(example, readFileSync(new URL(file, FOLDER)), type);
      if (words !== undefined) {
        assert.match(error?.message ?? "", new RegExp(words));
        return;
      }
      assert.equal(error, undefined);
      assert.equal(asked, 1);
      const last = parts.at(-1);
      assert.ok(last?.type === "finish");
      assert.equal(textOf(last.message), text || (refusal ?? ""));
      assert.equal(streamed(parts, "text"), text || (refusal ?? ""));
      assert.equal(streamed(parts, "thinking"), thinking);
      const content = last.message.content;
      const made = content.flatMap((part) => (part.type === "toolCall" ? [[part.name, part.arguments]] : []));
      assert.deepEqual(made, calls);
      assert.equal(last.message.stopReason, calls.length > 0 ? "toolUse" : "stop");
      assert.ok(JSON.stringify(last.message).isWellFormed());
    });
  }

  it("is named by its bytes where nothing of it belongs to the protocol, after one more request", async () => {
    for (const api of Object.values(API)) {
      const { error, asked } = await called({ api }, Buffer.from('{"answer":42}'), "application/json");
      assert.match(
        error?.message ?? "",
        /a body of 13 bytes of the type application\/json that is no answer/,
      );
      assert.equal(asked, 2, api);
    }
  });

  it("that is an error about the request is paid for once", async () => {
    const event = {
      type: "error",
      code: null,
      message: "Invalid arguments passed to the model.",
      param: null,
    };
    const bytes = Buffer.from(`event: error\ndata: ${JSON.stringify(event)}\n\n`);
    const { error, asked } = await called({ api: "openai-responses" }, bytes, "text/event-stream");
    assert.match(error?.message ?? "", /refused the request .*Invalid arguments passed to the model/);
    assert.equal(asked, 1);
  });

  it("with a refusal that ends it is a failure with the model's words", async () => {
    const message = {
      type: "message",
      role: "assistant",
      content: [{ type: "text", text: "I will not help with that." }],
      stop_reason: "refusal",
    };
    const bytes = Buffer.from(JSON.stringify(message));
    const { error, asked } = await called({ api: "anthropic-messages" }, bytes, "application/json");
    assert.match(error?.message ?? "", /I will not help with that/);
    assert.equal(asked, 1);
  });
});
