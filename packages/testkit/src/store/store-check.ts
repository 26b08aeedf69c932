/** One check of the suite of stores. */
import type { Check } from "../conformance-suite.ts";
import type { StorePlace } from "./store-place.ts";

/** Parts of a check's context that a store may not offer. */
export type StoreNeed = "abandon";

export interface StoreCheckContext {
  /** An empty place; what it opened is closed after the check, then it is removed. */
  place(): Promise<StorePlace>;
}

export interface StoreCheck extends Check<StoreCheckContext> {
  needs?: StoreNeed;
}
