/** The package `ai` with its providers of OpenAI (Responses by default, and Chat Completions) and Anthropic. */
import { PNG } from "../model-api/samples.ts";
import type { Target } from "../model-api/targets.ts";
import {
  load,
  PARAMETERS,
  RULES,
  SCHEMA,
  TOOL_NAMES,
  toolResult,
  type Library,
  type LibraryChat,
  type Turn,
} from "./library-chat.ts";

interface Result {
  text: string | PromiseLike<string>;
  output: unknown;
  /** Of all steps. */
  responseMessages: object[] | PromiseLike<object[]>;
}

interface Ai {
  generateText(asked: object): Promise<Result>;
  streamText(asked: object): Result;
  jsonSchema(schema: object): object;
  stepCountIs(count: number): unknown;
  tool(made: object): object;
  Output: { object(of: object): object };
}

type Provider = ((model: string) => unknown) & { chat(model: string): unknown };

class AiChat implements LibraryChat {
  readonly #ai: Ai;
  readonly #model: unknown;
  #messages: object[] = [];

  constructor(ai: Ai, model: unknown) {
    this.#ai = ai;
    this.#model = model;
  }

  async ask({ kind, text }: Turn, signal?: AbortSignal): Promise<string> {
    const { generateText, streamText, jsonSchema, stepCountIs, tool, Output } = this.#ai;
    const image = { type: "file", data: PNG, mediaType: "image/png" };
    const user = { role: "user", content: [{ type: "text", text }, ...(kind === "image" ? [image] : [])] };
    const messages = [...this.#messages, user];
    const tools = Object.fromEntries(
      TOOL_NAMES.map((name) => [
        name,
        tool({ inputSchema: jsonSchema(PARAMETERS), execute: (args: unknown) => toolResult(name, args) }),
      ]),
    );
    const asked = {
      model: this.#model,
      instructions: RULES,
      messages,
      maxRetries: 0,
      abortSignal: signal,
      ...(kind === "format"
        ? { output: Output.object({ schema: jsonSchema(SCHEMA) }) }
        : { tools, stopWhen: stepCountIs(4) }),
    };
    const failed: unknown[] = [];
    const result =
      kind === "stream"
        ? streamText({ ...asked, onError: ({ error }: { error: unknown }) => void failed.push(error) })
        : await generateText(asked);
    const answer = await result.text;
    const made = await result.responseMessages;
    if (failed.length > 0) throw new Error("The stream failed.", { cause: failed[0] });
    signal?.throwIfAborted();
    this.#messages = [...messages, ...made];
    return answer;
  }
}

async function provider(name: string, factory: string, { url, key }: Target): Promise<Provider> {
  const made = await load<Record<string, (settings: object) => Provider>>(name);
  const create = made[factory];
  if (!create) throw new Error(`${name} has no ${factory}.`);
  return create({ baseURL: url, apiKey: key });
}

function library(name: string, modelOf: (target: Target) => Promise<unknown>): Library {
  return { name, open: async (target) => new AiChat(await load<Ai>("ai"), await modelOf(target)) };
}

export const AI: readonly Library[] = [
  library("ai, Responses", async (target) =>
    (await provider("@ai-sdk/openai", "createOpenAI", target))(target.model),
  ),
  library("ai, Chat Completions", async (target) =>
    (await provider("@ai-sdk/openai", "createOpenAI", target)).chat(target.model),
  ),
  library("ai, Messages", async (target) =>
    (await provider("@ai-sdk/anthropic", "createAnthropic", target))(target.model),
  ),
];
