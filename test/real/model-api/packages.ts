/** The official packages of OpenAI and Anthropic: they are installed for these tests only, so the parts in use are declared here. */
import { pathToFileURL } from "node:url";
import { packageFile } from "../programs.ts";
import type { Target } from "./targets.ts";

export interface ChatCall {
  id: string;
  function: { name: string; arguments: string };
}

export interface ChatMessage {
  role: string;
  content: string | null;
  tool_calls?: ChatCall[];
}

export interface ChatAnswer {
  object: string;
  choices: { message: ChatMessage; finish_reason: string }[];
  usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
}

export interface ChatChunk {
  choices: { delta: { content?: string | null }; finish_reason: string | null }[];
  usage?: ChatAnswer["usage"] | null;
}

interface ChatRunner {
  finalContent(): Promise<string | null>;
}

export interface ResponseItem {
  type: string;
  id?: string;
  name?: string;
  arguments?: string;
  call_id?: string;
}

export interface ResponseAnswer {
  object: string;
  status: string;
  output: ResponseItem[];
  output_text: string;
  usage: { input_tokens: number; output_tokens: number; total_tokens: number };
}

export interface ResponseEvent {
  type: string;
  delta?: string;
  response?: ResponseAnswer;
}

export interface OpenAi {
  models: { list(): AsyncIterable<{ id: string }> };
  chat: {
    completions: {
      create(asked: object): Promise<ChatAnswer & AsyncIterable<ChatChunk>>;
      stream(asked: object): ChatRunner & {
        finalChatCompletion(): Promise<ChatAnswer>;
        totalUsage(): Promise<ChatAnswer["usage"]>;
      };
      runTools(asked: object): ChatRunner;
    };
  };
  responses: {
    create(asked: object): Promise<ResponseAnswer & AsyncIterable<ResponseEvent>>;
    stream(asked: object): AsyncIterable<ResponseEvent> & { finalResponse(): Promise<ResponseAnswer> };
    compact(asked: object): Promise<{ object: string; output: ResponseItem[] }>;
  };
}

export interface MessageBlock {
  type: string;
  text?: string;
  id?: string;
  name?: string;
  input?: unknown;
}

export interface MessageAnswer {
  type: string;
  role: string;
  content: MessageBlock[];
  stop_reason: string;
  usage: { input_tokens: number; output_tokens: number };
}

export interface MessageEvent {
  type: string;
  delta?: { type?: string; text?: string; stop_reason?: string };
}

export interface Anthropic {
  models: { list(): AsyncIterable<{ id: string }> };
  messages: {
    create(asked: object): Promise<MessageAnswer & AsyncIterable<MessageEvent>>;
    stream(asked: object): { finalMessage(): Promise<MessageAnswer>; finalText(): Promise<string> };
    countTokens(asked: object): Promise<{ input_tokens: number }>;
  };
}

type Library<Client> = {
  default: new (options: { apiKey: string; baseURL: string; maxRetries: number }) => Client;
};

async function library<Client>(name: string): Promise<Library<Client>> {
  return (await import(pathToFileURL(packageFile(name, "index.mjs")).href)) as Library<Client>;
}

export async function openAi({ url, key }: Target): Promise<OpenAi> {
  const { default: Client } = await library<OpenAi>("openai");
  return new Client({ apiKey: key, baseURL: url, maxRetries: 0 });
}

/** Its package adds the version to the address by itself. */
export async function anthropic({ url, key }: Target): Promise<Anthropic> {
  const { default: Client } = await library<Anthropic>("@anthropic-ai/sdk");
  return new Client({ apiKey: key, baseURL: url.replace(/\/v1$/, ""), maxRetries: 0 });
}
