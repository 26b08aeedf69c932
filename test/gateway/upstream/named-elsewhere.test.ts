/** Names of items and responses that a model of another protocol cannot look up. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { withServer } from "../../model/calling.ts";
import { bytesOf, send, type Body } from "./translating.ts";

const USER = { role: "user", content: "Where is the whelk?" };

describe("a request that names what only its provider has", () => {
  const cases: [string, Body, RegExp][] = [
    [
      "an item",
      { input: [USER, { type: "item_reference", id: "msg_7" }, USER] },
      /"msg_7\\" not found: input\[1\]/,
    ],
    ["a response", { input: [USER], previous_response_id: "resp_7" }, /Previous response with id \\"resp_7/],
    ["a conversation", { input: [USER], conversation: { id: "conv_7" } }, /Conversation with id \\"conv_7/],
  ];
  for (const [what, body, words] of cases)
    it(`(${what}) is refused in the words of the protocol, and not sent`, () =>
      withServer("openai-completions", [{ text: "Here." }], async ({ server, model }) => {
        const answer = await send(model, { api: "openai-responses", body: { model: "m", ...body } });
        const text = (await bytesOf(answer)).toString("utf8");
        assert.equal(answer.status, 400);
        assert.match(text, words);
        assert.match(text, /invalid_request_error/);
        assert.equal(server.requests.length, 0);
      }));
});
