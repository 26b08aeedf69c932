/** Kinds of differences between protocols, providers and models: each is decided here and used at one place of `packages/core/src/model`. */
import type { JsonSchema } from "@pagurus/contract/harness/tool";
import type { WireApi } from "@pagurus/contract/harness/wire";
import type { ThinkingPart } from "@pagurus/contract/message";
import type { ModelApi, ModelInfo } from "@pagurus/contract/model";
import type { Env } from "../credentials.ts";
import type { Prompt, PromptTool } from "../prompt-types.ts";
import type { AnswerShape } from "../provider-types.ts";
import type { CacheDiagnosing } from "./cache-diagnosis.ts";
import type { Reasoning } from "./efforts.ts";

/** Facts of one request that members of its body depend on. */
export interface CallFacts {
  /** Id of the model at its provider. */
  model: string;
  reasoning: boolean;
  cacheKey: string | undefined;
  /** Requested thinking; undefined for the provider's default and for models that do not reason. */
  thinking: Reasoning | undefined;
  maxOutputTokens: number | undefined;
  /** The request offers tools. */
  hasTools: boolean;
  /** The answer has to call a tool. */
  forcesTool: boolean;
}

/** One request, in the form that every protocol's writer takes. */
export interface ModelCall {
  facts: CallFacts;
  prompt: Prompt;
  tools: readonly PromptTool[];
  /** With what the model can do of it. */
  shape: AnswerShape;
  /** Name of a tool whose arguments are the answer. */
  answerTool?: string;
  quirks: Quirks;
}

export type RequestBody = Record<string, unknown>;

export interface ModelProtocol {
  /** Names the reader of its answers. */
  readonly api: WireApi;
  /** Path and query of the request, after the base URL. */
  path(model: string): string;
  /** Headers of the protocol. `key`: undefined where the endpoint needs none. */
  headers(key: string | undefined): Record<string, string>;
  /** The same call always gives the same bytes. */
  body(call: ModelCall): RequestBody;
}

/** Whether a request asks for thinking. */
export function asksToThink({ thinking }: CallFacts): boolean {
  return thinking !== undefined && thinking !== "none";
}

/** Whether a shape asks for another verbosity than the default. */
export function hasVerbosity(verbosity: AnswerShape["verbosity"]): boolean {
  return verbosity !== undefined && verbosity !== "medium";
}

/** The parts that have a signature. */
export function signedThinking(parts: readonly ThinkingPart[]): readonly ThinkingPart[] {
  return parts.filter(({ signature }) => signature !== undefined && signature !== "");
}

export interface Quirks {
  /** Writer and reader of the protocol; loaded at the first call. */
  loadProtocol(): Promise<ModelProtocol>;
  /** Members of the body next to model, messages and tools; the same facts always give the same members. */
  members(facts: CallFacts): RequestBody;
  /** Betas that the members need, for the header that the protocol has for them. */
  betas(facts: CallFacts): readonly string[];
  /** Role of system messages. */
  systemRole(facts: CallFacts): "system" | "developer";
  /** Default output limit, where the protocol requires one. Absent: none is sent. */
  outputLimit?: number;

  /** Version path of an address that has no path. */
  versionPath: string;
  /** Official clients add the version path to an address with another path too. */
  versionsAnyPath: boolean;
  /** Address from a variable with a format of its own; undefined if it is not set or no address. */
  addressOf?(env: Env): string | undefined;

  /** A system-level message may occur inside the conversation; otherwise it is a user message in its wrapper. */
  developerMessages: boolean;
  /** System text is the beginning of the first user message. */
  systemInUser: boolean;
  /** A tool result may contain images; otherwise they follow the results as a user message. */
  imagesInResults: boolean;
  /** Images are outside of the result that they belong to, each with a text after it. */
  imagesAfterResults: boolean;
  /** A tool result has a field for failure; elsewhere the text says it. */
  failedResults: boolean;
  /** The prompt cache needs marks, at most four in a request. */
  cacheMarks: boolean;
  /** The provider's diagnosis of cache misses. Absent: it has none. */
  cacheDiagnosis?: CacheDiagnosing;
  /** Two user messages in a row are refused, and joined. */
  joinsUserMessages: boolean;
  /** The server rejects some keywords of schemas, which are left out. */
  plainSchemas: boolean;
  /** Words for the part of a shape that the protocol has no field for; undefined if it has one for all of it. */
  unsupportedShape(shape: AnswerShape): string | undefined;
  /** A JSON answer with this schema has to be asked for as a call of a tool. */
  answersByTool(facts: CallFacts, schema: JsonSchema): boolean;
  /** No tool can be forced. */
  refusesForcedTools(facts: CallFacts): boolean;

  /** The thinking of a message that can be sent back. Absent: the protocol has no place for it. */
  sendableThinking?(parts: readonly ThinkingPart[]): readonly ThinkingPart[];
  /** A tool call's signature is sent back. */
  signsCalls: boolean;
  /** Signature of calls that the model has not made or signed itself. Absent: it accepts calls without one. */
  foreignSignature?: string;
  /** Thinking is refused within a tool loop that began without signed thinking, as when another model began it. */
  refusesUnsignedLoops: boolean;
  /** Thinking is valid only after the same messages, and with thinking off the server cannot drop it. */
  bindsThinking: boolean;
  /** A refusal is a failure: its words are not the model's answer, and what came before it is void. */
  refusalsFail: boolean;

  /** What to do about a model that the server does not have, before the advice to choose another. */
  missingModelAdvice?(model: string): string;
}

/** Quirks of what matches all of `api`, `provider` and `model` that are present. */
export interface QuirkRow {
  /** As in the table of docs/architecture/models.md. */
  name: string;
  api?: ModelApi;
  provider?: string;
  /** Pattern of model ids. */
  model?: RegExp;
  quirks: Partial<Quirks>;
}

export type QuirkTarget = Pick<ModelInfo, "api" | "provider" | "id">;
