/** Data that `limited.child.ts` adopts, shared with the test. */
import type { MessageEntry } from "../../../../packages/contract/src/session/transcript.ts";
import { chain } from "./fixtures.ts";

export function limitedPath(): MessageEntry[] {
  return chain(Array.from({ length: 1_500 }, (_, index) => `note ${index} `.repeat(100) + `word${index}`));
}
