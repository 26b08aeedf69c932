/** The package `langchain` with its chat models of OpenAI (both APIs) and Anthropic. */
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

interface Message {
  text: string;
}

interface Model {
  invoke(messages: unknown[], how?: object): Promise<Message>;
  stream(
    messages: unknown[],
    how?: object,
  ): Promise<AsyncIterable<Message & { concat(other: Message): Message }>>;
  withStructuredOutput(
    schema: object,
    how: object,
  ): {
    invoke(messages: unknown[], how?: object): Promise<{ raw: Message; parsed: unknown }>;
  };
}

interface LangChain {
  createAgent(made: object): { invoke(state: object, how?: object): Promise<{ messages: Message[] }> };
  tool(run: (args: unknown) => string, made: object): object;
}

class LangChainChat implements LibraryChat {
  readonly #langChain: LangChain;
  readonly #model: Model;
  #messages: unknown[] = [{ role: "system", content: RULES }];

  constructor(langChain: LangChain, model: Model) {
    this.#langChain = langChain;
    this.#model = model;
  }

  async ask({ kind, text }: Turn, signal?: AbortSignal): Promise<string> {
    const image = { type: "image_url", image_url: { url: `data:image/png;base64,${PNG}` } };
    const content = kind === "image" ? [{ type: "text", text }, image] : text;
    const messages = [...this.#messages, { role: "user", content }];
    const { answer, added } = await this.#answer(kind, messages, signal);
    this.#messages = [...messages, ...added];
    return answer;
  }

  async #answer(
    kind: Turn["kind"],
    messages: unknown[],
    signal: AbortSignal | undefined,
  ): Promise<{ answer: string; added: unknown[] }> {
    const model = this.#model;
    if (kind === "stream") {
      let whole: Message | undefined;
      for await (const chunk of await model.stream(messages, { signal }))
        whole = whole ? (whole as typeof chunk).concat(chunk) : chunk;
      if (!whole) throw new Error("The stream is empty.");
      return { answer: whole.text, added: [whole] };
    }
    if (kind === "format") {
      const shaped = model.withStructuredOutput(SCHEMA, {
        name: "place",
        method: "jsonSchema",
        includeRaw: true,
      });
      const { raw, parsed } = await shaped.invoke(messages, { signal });
      return { answer: JSON.stringify(parsed), added: [raw] };
    }
    if (kind === "tools") {
      const { createAgent, tool } = this.#langChain;
      const tools = TOOL_NAMES.map((name) =>
        tool((args) => toolResult(name, args), { name, description: name, schema: PARAMETERS }),
      );
      const { messages: all } = await createAgent({ model, tools }).invoke({ messages }, { signal });
      return { answer: all.at(-1)?.text ?? "", added: all.slice(messages.length) };
    }
    const answer = await model.invoke(messages, { signal });
    return { answer: answer.text, added: [answer] };
  }
}

function library(
  name: string,
  [from, made]: readonly [string, string],
  settings: (target: Target) => object,
): Library {
  return {
    name,
    open: async (target) => {
      const models = await load<Record<string, new (settings: object) => Model>>(from);
      const Made = models[made];
      if (!Made) throw new Error(`${from} has no ${made}.`);
      const model = new Made({ model: target.model, maxRetries: 0, ...settings(target) });
      return new LangChainChat(await load<LangChain>("langchain"), model);
    },
  };
}

const OPENAI = ["@langchain/openai", "ChatOpenAI"] as const;

export const LANGCHAIN: readonly Library[] = [
  library("langchain, Chat Completions", OPENAI, ({ url, key }) => ({
    apiKey: key,
    configuration: { baseURL: url },
    useResponsesApi: false,
  })),
  library("langchain, Responses", OPENAI, ({ url, key }) => ({
    apiKey: key,
    configuration: { baseURL: url },
    useResponsesApi: true,
  })),
  library("langchain, Messages", ["@langchain/anthropic", "ChatAnthropic"], ({ url, key }) => ({
    anthropicApiKey: key,
    anthropicApiUrl: url.replace(/\/v1$/, ""),
    maxTokens: 1_000,
  })),
];
