/** One chat with a client library: what it is asked in each turn, and what the library is loaded with. */
import type { Target } from "../model-api/targets.ts";

/** `stream`: the answer as a stream; `tools`: two calls at once; `format`: JSON of a schema; `image`: with an image. */
export type Kind = "plain" | "stream" | "tools" | "format" | "image";

export interface Turn {
  kind: Kind;
  /** Words of the user, which no other turn of the chat has. */
  text: string;
}

/** A chat that keeps its history as programs with the library do. A turn that fails leaves the history as it was. */
export interface LibraryChat {
  /** The text of the answer. */
  ask(turn: Turn, signal?: AbortSignal): Promise<string>;
}

export interface Library {
  name: string;
  open(target: Target): Promise<LibraryChat>;
}

/** Loads a package of this folder. The parts in use are declared where they are used, as it is installed for these tests only. */
export async function load<Package>(name: string): Promise<Package> {
  try {
    return (await import(name)) as Package;
  } catch (error) {
    throw new Error(`test/real/libraries needs ${name}: run \`npm run setup:libraries\`.`, { cause: error });
  }
}

export const RULES = "Be short.";
export const SCHEMA = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
} as const;
export const PARAMETERS = {
  type: "object",
  properties: { at: { type: "string" } },
  required: ["at"],
  additionalProperties: false,
} as const;
export const TOOL_NAMES = ["look", "hear"] as const;

/** What a tool of the chat returns. */
export function toolResult(name: string, args: unknown): string {
  const { at } = (typeof args === "string" ? JSON.parse(args) : args) as { at: string };
  return `${name} at ${at}: crab`;
}

export const MOST_TOKENS = 1_000;
