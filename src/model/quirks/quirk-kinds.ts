/** Kinds of differences between protocols, providers and models: each is decided here and used at one place of `src/model`. */
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  SharedV4ProviderMetadata,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import type { ThinkingPart } from "../../contract/message.ts";
import type { ModelApi, ModelInfo } from "../../contract/model.ts";
import type { Env } from "../credentials.ts";
import type { CacheDiagnosing } from "./cache-diagnosis.ts";

/** Value of a key where a package requires one and the endpoint needs none. */
export const NO_KEY = "none";

export type Reasoning = Exclude<LanguageModelV4CallOptions["reasoning"], undefined>;
export type SignedThinking = ReadonlyMap<ThinkingPart, SharedV4ProviderOptions>;
export type Signature = Pick<ThinkingPart, "signature" | "redacted">;

/** Settings of a provider package. */
export interface PackageSettings {
  baseURL: string;
  headers: Record<string, string>;
  fetch: typeof globalThis.fetch;
  /** Absent where the endpoint needs none. */
  apiKey?: string;
}

/** Facts of one request that options depend on. */
export interface CallFacts {
  reasoning: boolean;
  cacheKey: string | undefined;
  /** Requested thinking; undefined for the provider's default and for models that do not reason. */
  thinking: Reasoning | undefined;
}

/** Sends each part's signature back in the same form. */
export function signedEach(
  parts: readonly ThinkingPart[],
  options: (signature: string, part: ThinkingPart) => SharedV4ProviderOptions,
): SignedThinking {
  const signed = new Map<ThinkingPart, SharedV4ProviderOptions>();
  for (const part of parts) if (part.signature) signed.set(part, options(part.signature, part));
  return signed;
}

/** Whether a request asks for thinking. */
export function asksToThink({ thinking }: CallFacts): boolean {
  return thinking !== undefined && thinking !== "none";
}

export interface Quirks {
  /** Package that speaks the protocol. Importing one costs 60 to 140 ms, so only the used one is loaded, at the first call. */
  loadPackage(model: string, settings: PackageSettings): Promise<LanguageModelV4>;
  /** Options of a call in the package's format; the same facts always give the same bytes on the wire. */
  callOptions(facts: CallFacts): SharedV4ProviderOptions;
  /** Value of `strict` in tools. Absent: not sent. */
  strictTools?: boolean;
  /** Default output limit, where the protocol requires one. Absent: none is sent. */
  outputLimit?: number;

  /** Version path of an address that has no path. */
  versionPath: string;
  /** Official clients add the version path to an address with another path too. */
  versionsAnyPath: boolean;
  /** Address from a variable with a format of its own; undefined where it is not set or no address. */
  addressOf?(env: Env): string | undefined;

  /** A system-level message may occur inside the conversation; otherwise it is a user message in its wrapper. */
  developerMessages: boolean;
  /** A tool result may contain images; otherwise they follow the results as a user message. */
  imagesInResults: boolean;
  /** A tool result has a field for failure; elsewhere the packages would wrap the text in JSON. */
  failedResults: boolean;
  /** The prompt cache needs marks, at most four in a request. */
  cacheMarks: boolean;
  /** The provider's diagnosis of cache misses. Absent: it has none. */
  cacheDiagnosis?: CacheDiagnosing;
  /** Two user messages in a row are refused, and joined. */
  joinsUserMessages: boolean;

  /** Signature of a thinking part. `ended`: the part is complete. Absent: the protocol has none. */
  thinkingSignature?(metadata: SharedV4ProviderMetadata | undefined, ended: boolean): Signature;
  /** Signature of a tool call. Absent: the protocol has none. */
  callSignature?(metadata: SharedV4ProviderMetadata | undefined): string | undefined;
  /** The parts of a message's thinking that can be sent back, with the options that carry their signature. */
  signedThinking?(parts: readonly ThinkingPart[]): SignedThinking;
  /** Options that send a tool call's signature back. */
  signedCall?(signature: string): SharedV4ProviderOptions;
  /** Thinking without text exists in encrypted form only. */
  encryptsThinking: boolean;
  /** Thinking is refused within a tool loop that began without signed thinking, as when another model began it. */
  refusesUnsignedLoops: boolean;
  /** Thinking is valid only after the same messages, and with thinking off the server cannot drop it. */
  bindsThinking: boolean;
  /** Finish reason for an input that leaves no tokens for an answer. */
  overflowReason?: string;

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
