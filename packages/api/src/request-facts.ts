/** A model request in short facts, for its page, its row in a list and reports: one place says what is shown of each member. */
import { count, dollars, percent } from "@pagurus/core/data/plain-numbers";
import type { InspectedRequest } from "./types.ts";

type Fact = (request: InspectedRequest) => string | false | undefined;

/** Each member in the order of the facts, or as a text why no fact is about it; a new member is added here, or this does not compile. */
const FACTS = {
  id: "names the page and the report",
  at: "in the form of the page or the report",
  model: "the title",
  purpose: "the title",
  turnId: "the beginning of the id",
  runtime: ({ runtime, seam }) => (seam === undefined || seam === runtime ? runtime : `${runtime} (${seam})`),
  seam: "with `runtime`",
  engine: ({ engine }) => engine,
  fallback: ({ fallback }) => fallback && `for ${fallback.from} (${fallback.reason})`,
  epoch: "the compactions of the session name it",
  inputTokens: ({ inputTokens, tokens = 0 }) =>
    inputTokens === undefined ? `about ${count(tokens)} tokens` : `${count(inputTokens)} tokens in`,
  tokens: "with `inputTokens`, until the provider has counted",
  usage: ({ usage }) => usage && `${count(usage.output)} tokens out`,
  contextTokens: "for thresholds; close to `inputTokens`",
  tokenBudget: "the same for all requests of a session, in its status",
  fixedTokens: ({ fixedTokens }) =>
    fixedTokens !== undefined && `${count(fixedTokens)} of the program itself`,
  sharedTokens: "an estimate of what `cacheShare` measures",
  cacheShare: ({ cacheShare }) => cacheShare !== undefined && `${percent(cacheShare)} from the cache`,
  cost: ({ usage }) => usage?.cost !== undefined && dollars(usage.cost),
  cache: ({ cache = {} }) =>
    [
      cache.miss && `cache miss: ${cache.miss.cause}, ${count(cache.miss.missedTokens)} tokens`,
      cache.miss?.cost !== undefined && dollars(cache.miss.cost),
      cache.diagnosis && `the provider: ${cache.diagnosis.reason}`,
    ]
      .filter((word) => word !== undefined && word !== false)
      .join(", "),
  degraded: ({ degraded }) => degraded && `degraded: ${degraded}`,
  parts: "listed on the page and in the report",
  captured: "the page and the report have the parts of the body",
} satisfies Record<keyof InspectedRequest | "cost", Fact | string>;

/** For example `openai/gpt-5.1, compaction`. */
export function requestTitle({ model, purpose }: InspectedRequest): string {
  return purpose === undefined ? model : `${model}, ${purpose}`;
}

/** For example `["embedded", "lossless", "20,100 tokens in"]`; without those that a page shows elsewhere. */
export function requestFacts(
  request: InspectedRequest,
  shownElsewhere: readonly (keyof typeof FACTS)[] = [],
): string[] {
  return Object.entries<Fact | string>(FACTS).flatMap(([member, fact]) => {
    if (typeof fact === "string" || shownElsewhere.some((shown) => shown === member)) return [];
    return fact(request) || [];
  });
}
