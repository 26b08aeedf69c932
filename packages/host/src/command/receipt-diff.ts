import { PagurusError } from "@pagurus/contract/errors";
import type { Pagurus } from "@pagurus/contract/host/host";
import type { ReceiptDiff } from "@pagurus/api/types";
import type { Receipt, ReceiptPart } from "@pagurus/contract/session/receipt";
import { count, plural } from "@pagurus/core/data/plain-numbers";

interface ReceiptPair {
  from: Receipt;
  to: Receipt;
}

/** Keys that identify a part across requests: its entry or file, else its source and place in it. */
function withKeys(parts: readonly ReceiptPart[]): Map<string, ReceiptPart> {
  const seen = new Map<string, number>();
  const keyed = new Map<string, ReceiptPart>();
  for (const part of parts) {
    const base = `${part.entryId ?? part.path ?? part.source}:${part.role}`;
    const nth = seen.get(base) ?? 0;
    seen.set(base, nth + 1);
    keyed.set(`${base}#${nth}`, part);
  }
  return keyed;
}

const end = ({ turnId, request, tokens }: Receipt): ReceiptDiff["from"] => ({ turnId, request, tokens });

/** Compares two requests: the equal prefix, then by identity what was added, removed or changed, in order. */
export function diffReceipts({ from, to }: ReceiptPair): ReceiptDiff {
  let prefixParts = 0;
  while (
    prefixParts < Math.min(from.parts.length, to.parts.length) &&
    from.parts[prefixParts]?.hash === to.parts[prefixParts]?.hash &&
    from.parts[prefixParts]?.role === to.parts[prefixParts]?.role
  ) {
    prefixParts += 1;
  }
  const before = withKeys(from.parts.slice(prefixParts));
  const after = withKeys(to.parts.slice(prefixParts));
  const changes: ReceiptDiff["changes"] = [];
  let unchangedParts = 0;
  for (const [key, part] of before) if (!after.has(key)) changes.push({ change: "removed", part });
  for (const [key, part] of after) {
    const earlier = before.get(key);
    if (!earlier) changes.push({ change: "added", part });
    else if (earlier.hash === part.hash) unchangedParts += 1;
    else changes.push({ change: "changed", part, before: earlier });
  }
  const prefixTokens = to.parts.slice(0, prefixParts).reduce((sum, part) => sum + part.tokens, 0);
  return { from: end(from), to: end(to), prefixParts, prefixTokens, unchangedParts, changes };
}

function name(part: ReceiptPart): string {
  return [part.source, part.role, part.path ?? part.entryId ?? ""].filter((text) => text !== "").join(" ");
}

function changeLine({ change, part, before }: ReceiptDiff["changes"][number]): string {
  if (change === "added") return `  + ${name(part)}, ${count(part.tokens)} tokens`;
  if (change === "removed") return `  - ${name(part)}, ${count(part.tokens)} tokens`;
  const moved = before && before.source !== part.source ? ` (was ${before.source})` : "";
  return `  ~ ${name(part)}${moved}, ${count(before?.tokens ?? 0)} → ${count(part.tokens)} tokens`;
}

export function receiptDiffText(diff: ReceiptDiff): string {
  const label = (side: ReceiptDiff["from"]): string => `turn ${side.turnId} request ${side.request}`;
  const grown = diff.to.tokens - diff.from.tokens;
  return [
    `From ${label(diff.from)} to ${label(diff.to)}`,
    `  = same prefix: ${plural(diff.prefixParts, "part")}, ${count(diff.prefixTokens)} tokens`,
    ...diff.changes.map(changeLine),
    ...(diff.unchangedParts > 0
      ? [`  = unchanged after the prefix: ${plural(diff.unchangedParts, "part")}`]
      : []),
    `  total: ${count(diff.from.tokens)} → ${count(diff.to.tokens)} tokens (${grown < 0 ? "-" : "+"}${count(Math.abs(grown))})`,
  ].join("\n");
}

interface Where {
  sessionKey: string;
  agentId: string;
}

/** Names of two requests: `TURN`, its last one, or `TURN:REQUEST`. */
export interface RequestNames {
  from?: string;
  to?: string;
}

/** A host elsewhere that compares requests where its receipts are. */
export interface ComparingHost {
  receiptDiff(where: Where, names: RequestNames): Promise<ReceiptDiff>;
}

function compares(pagurus: Pagurus): pagurus is Pagurus & ComparingHost {
  return "receiptDiff" in pagurus;
}

/** Compares the requests that `receiptPair` finds. Throws `entry_not_found` where there are not two. */
export async function requestDiff(
  pagurus: Pagurus,
  where: Where,
  names: RequestNames = {},
): Promise<ReceiptDiff> {
  if (compares(pagurus)) return pagurus.receiptDiff(where, names);
  return diffReceipts(await receiptPair(pagurus, where, names));
}

/** A request by `turn` (its last request) or `turn:number`. Throws `entry_not_found`. */
async function namedReceipt(pagurus: Pagurus, where: Where, name: string): Promise<Receipt> {
  const [turnId = "", request] = name.split(":");
  const receipts = await pagurus.context.receipts({ ...where, turnId });
  const found =
    request === undefined ? receipts.at(-1) : receipts.find((receipt) => String(receipt.request) === request);
  if (!found)
    throw new PagurusError("entry_not_found", `No request of "${name}" is recorded in this session.`);
  return found;
}

/** The last request of the nearest earlier turn on the path that made one. */
async function lastOfEarlierTurn(
  pagurus: Pagurus,
  where: Where,
  turnId: string,
): Promise<Receipt | undefined> {
  const reader = pagurus.sessions(where.agentId).openReader(where.sessionKey);
  try {
    const seen = new Set([turnId]);
    for await (const entry of reader.cursor.backward()) {
      if (entry.turnId === undefined || seen.has(entry.turnId)) continue;
      seen.add(entry.turnId);
      const last = (await pagurus.context.receipts({ ...where, turnId: entry.turnId })).at(-1);
      if (last) return last;
    }
    return undefined;
  } finally {
    reader.close();
  }
}

/**
 * The last two requests of a session, or those that `from` and `to` name (`TURN` or `TURN:REQUEST`; `to` defaults
 * to the newest). Throws `entry_not_found` where there are not two.
 */
export async function receiptPair(
  pagurus: Pagurus,
  where: Where,
  names: RequestNames = {},
): Promise<ReceiptPair> {
  const to =
    names.to === undefined
      ? (await pagurus.context.receipts(where)).at(-1)
      : await namedReceipt(pagurus, where, names.to);
  if (!to)
    throw new PagurusError("entry_not_found", "No request to a model is recorded in this session yet.");
  if (names.from !== undefined) return { from: await namedReceipt(pagurus, where, names.from), to };
  const siblings = await pagurus.context.receipts({ ...where, turnId: to.turnId });
  const from =
    siblings.findLast((receipt) => receipt.request < to.request) ??
    (await lastOfEarlierTurn(pagurus, where, to.turnId));
  if (!from) {
    throw new PagurusError(
      "entry_not_found",
      "Only one request is recorded in this session; nothing to compare.",
    );
  }
  return { from, to };
}
