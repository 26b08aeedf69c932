/** One model request of a session in a list: what its receipt and its capture have in common. */
import type { InspectedRequest } from "@pagurus/api/types";
import type { Receipt } from "@pagurus/contract/session/receipt";

/** Members of a receipt that its row has as they are. */
const SAME = [
  "turnId",
  "runtime",
  "seam",
  "engine",
  "model",
  "fallback",
  "purpose",
  "epoch",
  "tokens",
  "tokenBudget",
  "contextTokens",
  "fixedTokens",
  "sharedTokens",
  "degraded",
  "usage",
  "cache",
] as const satisfies readonly (keyof Receipt & keyof InspectedRequest)[];

type Same = (typeof SAME)[number];

/** The other members, each with the reason; a new member is in one of the two, or this file does not compile. */
export const NOT_SAME: Readonly<Record<Exclude<keyof Receipt, Same>, string>> = {
  request: "the end of the row's id",
  timestamp: "`at` of the row",
  parts: "the row has their number; they are in the details of the request",
  liveFrom: "each part in the details has its source",
  sharedParts: "`sharedTokens` measures the same",
  fingerprint: "changes with `epoch`",
  own: "digests that the next receipt's `cache` was found with",
};

/** The members that a receipt has. */
export function sameAsReceipt(receipt: Pick<Receipt, Same>): Pick<Receipt, Same> {
  const known = SAME.filter((key) => receipt[key] !== undefined).map((key) => [key, receipt[key]]);
  return Object.fromEntries(known) as Pick<Receipt, Same>;
}
