import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { AgentMessage, AssistantMessage } from "../../packages/contract/src/message.ts";
import type { ModelApi, ModelInfo } from "../../packages/contract/src/model.ts";
import { OFFLINE_MODEL } from "../../packages/core/src/model/offline.ts";
import { buildPrompt } from "../../packages/core/src/model/model-prompt.ts";

const APIS: ModelApi[] = [
  "openai-responses",
  "openai-completions",
  "anthropic-messages",
  "google-generative-ai",
];

function infoOf(api: ModelApi): ModelInfo {
  return {
    ...OFFLINE_MODEL,
    ref: "p/m",
    provider: "p",
    id: "m",
    api,
    input: ["text", "image"],
    promptCache: "marks",
  };
}

interface Round {
  calls: { id: string; text: string; error: boolean; image: boolean }[];
  thinking: "none" | "signed" | "unsigned" | "foreign";
  text: string;
}

const words = fc.stringMatching(/^[a-z ]{0,12}$/);
const round: fc.Arbitrary<Round> = fc.record({
  calls: fc.array(
    fc.record({
      id: fc.oneof(fc.uuid(), fc.string({ minLength: 1, maxLength: 60 })),
      text: words,
      error: fc.boolean(),
      image: fc.boolean(),
    }),
    { maxLength: 3 },
  ),
  thinking: fc.constantFrom("none", "signed", "unsigned", "foreign"),
  text: words,
});
const conversation = fc
  .array(fc.record({ input: words, rounds: fc.array(round, { maxLength: 3 }) }), { maxLength: 4 })
  .map((turns) => turns.flatMap(({ input, rounds }, turn) => messagesOf(input, rounds, turn)));

function messagesOf(input: string, rounds: Round[], turn: number): AgentMessage[] {
  const messages: AgentMessage[] = [{ role: "user", content: `${input}${turn}` }];
  for (const [index, { calls, thinking, text }] of rounds.entries()) {
    const answer: AssistantMessage = {
      role: "assistant",
      provider: thinking === "foreign" ? "q" : "p",
      model: "m",
      content: [{ type: "text", text: `${text}${turn}.${index}` }],
    };
    if (thinking !== "none") {
      const signature = JSON.stringify({ id: `rs_${turn}_${index}`, encrypted: "e" });
      const signed = thinking === "unsigned" ? {} : { signature };
      answer.content.unshift({ type: "thinking", thinking: "t", ...signed });
    }
    for (const [at, { id }] of calls.entries()) {
      answer.content.push({
        type: "toolCall",
        id: `${id}${turn}.${index}.${at}`,
        name: "read",
        arguments: {},
      });
    }
    messages.push(answer);
    for (const [at, { id, text: result, error, image }] of calls.entries()) {
      messages.push({
        role: "toolResult",
        toolCallId: `${id}${turn}.${index}.${at}`,
        toolName: "read",
        content: [
          { type: "text", text: result },
          ...(image ? [{ type: "image" as const, data: "aGk=", mimeType: "image/png" }] : []),
        ],
        isError: error,
      });
    }
  }
  return messages;
}

/** Every part in order, without the cache marks, which move on purpose. */
function flat(prompt: ReturnType<typeof buildPrompt>): string[] {
  return prompt.flatMap((message) =>
    message.role === "system"
      ? [`system ${message.text}`]
      : message.content.map((part) => `${message.role} ${JSON.stringify({ ...part, mark: undefined })}`),
  );
}

for (const api of APIS) {
  test(`${api}: each tool result follows its call, and both carry the same id`, () => {
    fc.assert(
      fc.property(conversation, (messages) => {
        const open = new Set<string>();
        for (const message of buildPrompt("S", messages, infoOf(api), 0)) {
          if (message.role === "tool") {
            for (const { id } of message.content) assert.ok(open.delete(id), "a result without its call");
            continue;
          }
          assert.equal(open.size, 0, "a call is left open");
          if (message.role !== "assistant") continue;
          for (const part of message.content) if (part.type === "call") open.add(part.id);
        }
      }),
    );
  });

  test(`${api}: a longer conversation starts with the same parts`, () => {
    fc.assert(
      fc.property(conversation, fc.nat(), (messages, seed) => {
        // Cut where a request can end: before a user message.
        const cuts = messages.flatMap(({ role }, index) => (role === "user" && index > 0 ? [index] : []));
        const cut = cuts[seed % Math.max(1, cuts.length)] ?? messages.length;
        const short = flat(buildPrompt("S", messages.slice(0, cut), infoOf(api), 0));
        const long = flat(buildPrompt("S", messages, infoOf(api), 0));
        // Chat templates get adjacent user messages merged into one, which may grow.
        const same = api === "openai-completions" ? short.slice(0, -1) : short;
        assert.deepEqual(long.slice(0, same.length), same);
      }),
    );
  });

  test(`${api}: only signed thinking of this model is sent, and the messages are not changed`, () => {
    fc.assert(
      fc.property(conversation, (messages) => {
        const before = JSON.stringify(messages);
        const prompt = buildPrompt("S", messages, infoOf(api), messages.length);
        assert.equal(JSON.stringify(messages), before);
        const sent = prompt.flatMap((message) =>
          message.role === "assistant" ? message.content.filter((part) => part.type === "thinking") : [],
        );
        const signed = messages.filter(
          (message) =>
            message.role === "assistant" &&
            message.provider === "p" &&
            message.content.some((part) => part.type === "thinking" && part.signature),
        );
        assert.equal(sent.length, api === "openai-completions" ? 0 : signed.length);
        for (const part of sent) assert.ok(part.signature);
      }),
    );
  });
}
