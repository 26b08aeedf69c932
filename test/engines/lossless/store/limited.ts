/** What `limited.child.ts` adopts, so that the test knows it too. */
import type { MessageEntry } from "../../../../src/contract/transcript.ts";
import { chain } from "./fixtures.ts";

export function limitedPath(): MessageEntry[] {
  return chain(Array.from({ length: 1_500 }, (_, index) => `note ${index} `.repeat(100) + `word${index}`));
}
