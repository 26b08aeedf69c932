/** Each type of item, part and block of the published protocols: sent on whole, or refused by its name; never replaced or dropped. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { Protocol } from "../servers/server.ts";
import * as samples from "./item-samples.ts";
import { ApiBench, type Reply } from "./setting.ts";

const OTHERS: Readonly<Record<string, Protocol>> = {
  "/responses": "anthropic-messages",
  "/chat/completions": "anthropic-messages",
  "/messages": "openai-completions",
};
const OWN: Readonly<Record<string, Protocol>> = {
  "/responses": "openai-responses",
  "/chat/completions": "openai-completions",
  "/messages": "anthropic-messages",
};
const USER = { role: "user", content: "Go on." };

type Body = Record<string, unknown>;

function chatBody(part: Body): Body {
  return {
    model: "test/model",
    messages: [{ role: "user", content: [part, { type: "text", text: "And?" }] }],
  };
}

function messagesBody(messages: unknown[]): Body {
  return { model: "test/model", max_tokens: 100, messages };
}

describe("an item of a request", () => {
  let bench: ApiBench;
  afterEach(() => bench.end());

  async function open(path: string, own: boolean): Promise<void> {
    const protocol = (own ? OWN : OTHERS)[path] ?? "openai-completions";
    bench = await ApiBench.open(protocol, () => ({ text: "Fine." }), { input: ["text", "image"] });
  }

  function sent(): string {
    return bench.model.requests.at(-1)?.text ?? "";
  }

  /** Own protocol: the value is in the request as it was sent. */
  function assertSentOn(reply: Reply, { value, type }: samples.Sample): void {
    assert.equal(reply.status, 200, `${type}: ${reply.text.slice(0, 300)}`);
    assert.ok(sent().includes(JSON.stringify(value)), `${type} is in ${sent().slice(0, 800)}`);
  }

  function assertTranslated(reply: Reply, { type, seen }: samples.Sample): void {
    assert.doesNotMatch(sent(), /left out/);
    if (seen === undefined) {
      assert.equal(reply.status, 400, `${type}: ${reply.text.slice(0, 300)}`);
      // The call before a result is refused first.
      assert.ok(reply.text.includes(type.replace(/_output$/, "")), reply.text);
      return;
    }
    assert.equal(reply.status, 200, `${type}: ${reply.text.slice(0, 300)}`);
    if (seen !== "dropped") assert.match(sent(), seen, type);
  }

  const cases: [string, string, readonly samples.Sample[], (value: Body, all: readonly Body[]) => Body][] = [
    [
      "Responses",
      "/responses",
      samples.RESPONSES_ITEMS,
      (value, all) => {
        const call = all.find((each) => each["call_id"] === value["call_id"] && each !== value);
        const pair = value["call_id"] === undefined || call === undefined ? [value] : [call, value];
        const isCall = value["call_id"] !== undefined && all.indexOf(value) < all.indexOf(call ?? {});
        return { model: "test/model", input: [USER, ...(isCall ? pair.toReversed() : pair), USER] };
      },
    ],
    [
      "Responses, parts",
      "/responses",
      [...samples.RESPONSES_PARTS, ...samples.RESPONSES_FORMS],
      (value) => ({ model: "test/model", input: [{ role: "user", content: [value] }] }),
    ],
    ["Chat Completions, parts", "/chat/completions", samples.CHAT_PARTS, chatBody],
    [
      "Messages, blocks of the user",
      "/messages",
      samples.USER_BLOCKS,
      (value) => messagesBody([{ role: "user", content: [value, { type: "text", text: "And?" }] }]),
    ],
    [
      "Messages, blocks of the model",
      "/messages",
      samples.ANSWER_BLOCKS,
      (value) =>
        messagesBody([USER, { role: "assistant", content: [value, { type: "text", text: "So." }] }, USER]),
    ],
  ];

  for (const [name, path, list, body] of cases) {
    const values = list.map(({ value }) => value);
    it(`of ${name} reaches a model of the same protocol as it is`, async () => {
      await open(path, true);
      for (const each of list) assertSentOn(await bench.post(path, body(each.value, values)), each);
    });

    it(`of ${name} reaches a model of another protocol in its form, or is refused by name`, async () => {
      await open(path, false);
      for (const each of list) assertTranslated(await bench.post(path, body(each.value, values)), each);
    });
  }
});
