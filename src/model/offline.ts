/**
 * `offline/extract`: what answers when no model is configured. It quotes the passages of the context that fit the
 * input best, with their entry ids, and says what it is. Deterministic; calls no tools; costs nothing.
 */
import { PagurusError } from "../contract/errors.ts";
import type { AgentMessage } from "../contract/message.ts";
import type { ModelInfo } from "../contract/model.ts";
import { rankPassages } from "../compaction/passages.ts";
import type { ModelPart, ModelRequest } from "./types.ts";

export const OFFLINE_REF = "offline/extract";

export const OFFLINE_MODEL: ModelInfo = {
  ref: OFFLINE_REF,
  provider: "offline",
  id: "extract",
  api: "offline",
  contextWindow: 128_000,
  maxTokens: 8_192,
  reasoning: false,
  input: ["text"],
  promptCache: "none",
  truncatesSilently: false,
  cost: { input: 0, output: 0 },
};

const MAX_PASSAGES = 5;
const MAX_PASSAGE_CHARS = 400;

const WHAT_I_AM =
  "I am offline/extract, not a language model: I only quote this conversation. To talk to a model, set " +
  "ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY, start Ollama or LM Studio, or run " +
  "`pagurus config set agents.defaults.model <provider/model>`.";

/** Streams the answer to the newest user message. Throws `turn_aborted`. */
export function* streamOffline(info: ModelInfo, request: ModelRequest): Generator<ModelPart> {
  const text = answerOffline(request.messages);
  // In pieces of a paragraph, so that a caller's streaming path is the same as with a real model.
  for (const delta of text.split(/(?<=\n\n)/)) {
    if (request.signal.aborted) {
      throw new PagurusError("turn_aborted", "The model call was aborted.", { cause: request.signal.reason });
    }
    yield { type: "text", delta };
  }
  yield {
    type: "finish",
    message: {
      role: "assistant",
      content: [{ type: "text", text }],
      provider: info.provider,
      model: info.id,
      usage: { input: 0, output: 0, totalTokens: 0, cost: 0 },
      stopReason: "stop",
      timestamp: Date.now(),
    },
  };
}

function answerOffline(messages: readonly AgentMessage[]): string {
  const last = messages.findLastIndex((message) => message.role === "user");
  const asked = messages[last];
  const query = asked?.role === "user" ? textOf(asked) : "";
  const earlier = messages.slice(0, Math.max(0, last)).filter((message) => !isOwn(message));
  const passages =
    query === ""
      ? []
      : rankPassages({ query, messages: earlier, limit: MAX_PASSAGES, maxChars: MAX_PASSAGE_CHARS });
  if (passages.length === 0)
    return `Nothing earlier in this conversation matches your input.\n\n${WHAT_I_AM}`;
  const quotes = passages.map(({ text, entryId, role }) => {
    const source = entryId === undefined ? role : `${role}, entry ${entryId}`;
    return `- [${source}] ${text.trim().replaceAll("\n", "\n  ")}`;
  });
  const lead = passages.length === 1 ? "The passage" : `The ${passages.length} passages`;
  return `${lead} of this conversation that fit your input best:\n\n${quotes.join("\n")}\n\n${WHAT_I_AM}`;
}

/** Earlier answers of this model only repeat what others said. */
function isOwn(message: AgentMessage): boolean {
  return message.role === "assistant" && message.provider === OFFLINE_MODEL.provider;
}

function textOf(message: AgentMessage): string {
  if (typeof message.content === "string") return message.content;
  return message.content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
}
