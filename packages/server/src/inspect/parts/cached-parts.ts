/** Which parts of a body the provider read from its cache, by the number of tokens that it reported. */
import type { Usage } from "@pagurus/contract/message";
import type { BodyPart } from "./body-part.ts";

/** Order in which providers read a body, whatever its order as JSON. */
function rank({ source, role }: BodyPart): number {
  if (source === "tools") return 0;
  return role === "system" ? 1 : 2;
}

/**
 * `parts` in their order in the body, with `cached` where usage reports a cache. The reported count is compared with the estimates, corrected by the reported
 * input; a part counts as read where more than half of it was.
 */
export function cachedParts(parts: readonly BodyPart[], usage: Usage | undefined): BodyPart[] {
  if (usage?.cacheRead === undefined) return [...parts];
  const estimated = parts.reduce((sum, { tokens }) => sum + tokens, 0);
  const reported = usage.input + usage.cacheRead + (usage.cacheWrite ?? 0);
  const factor = estimated === 0 ? 1 : reported / estimated;
  const read = new Map<number, boolean>();
  let before = 0;
  for (const wanted of [0, 1, 2]) {
    for (const [index, part] of parts.entries()) {
      if (part.tokens === 0 || rank(part) !== wanted) continue;
      read.set(index, before + (part.tokens * factor) / 2 < usage.cacheRead);
      before += part.tokens * factor;
    }
  }
  return parts.map((part, index) => {
    const cached = read.get(index);
    return cached === undefined ? part : { ...part, cached };
  });
}
