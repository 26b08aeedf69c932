import type { Receipt, ReceiptPart } from "@pagurus/contract/session/receipt";
import { count, dollars, plural } from "@pagurus/core/data/plain-numbers";
import { bytes, table, time } from "./layout.ts";

/** Consecutive parts of one source, as one row of the table. */
interface PartGroup {
  source: string;
  parts: ReceiptPart[];
  tokens: number;
}

/** Groups the parts in order; each project file is a named group of its own. */
export function groupParts(parts: readonly ReceiptPart[]): PartGroup[] {
  const groups: PartGroup[] = [];
  for (const part of parts) {
    const named = part.path === undefined ? part.source : `${part.source} ${part.path}`;
    const source = part.stale === true ? `${named} (replaced)` : named;
    const last = groups.at(-1);
    if (last && last.source === source) {
      last.parts.push(part);
      last.tokens += part.tokens;
    } else groups.push({ source, parts: [part], tokens: part.tokens });
  }
  return groups;
}

function idRange(parts: readonly ReceiptPart[]): string {
  const ids = parts.flatMap((part) => (part.entryId === undefined ? [] : [part.entryId]));
  const first = ids[0];
  const last = ids.at(-1);
  if (first === undefined || last === undefined) return "";
  return ids.length === 1 ? first : ids.length === 2 ? `${first}, ${last}` : `${first} … ${last}`;
}

function trimLines(parts: readonly ReceiptPart[]): string[] {
  return parts.flatMap((part) => {
    if (!part.trimmed) return [];
    const { fromBytes, toBytes, aged } = part.trimmed;
    return [
      `  ${aged === undefined ? "trimmed" : `old, ${aged}`}: ${part.entryId ?? part.source}, ${bytes(fromBytes)} → ${bytes(toBytes)}`,
    ];
  });
}

function usageLine(receipt: Receipt): string {
  const { usage } = receipt;
  if (!usage) return "  usage: not reported";
  const parts = [`${count(usage.input)} input`, `${count(usage.output)} output`];
  if (usage.cacheRead !== undefined) parts.push(`${count(usage.cacheRead)} from cache`);
  if (usage.cacheWrite !== undefined) parts.push(`${count(usage.cacheWrite)} to cache`);
  if (usage.reasoning !== undefined) parts.push(`${count(usage.reasoning)} reasoning`);
  const cost = usage.cost === undefined ? "" : `; ${dollars(usage.cost)}`;
  return `  usage: ${parts.join(", ")}${cost}`;
}

/** Our finding of a cache miss, and the provider's. */
function cacheLines({ cache = {} }: Receipt): string[] {
  const { miss, diagnosis } = cache;
  const lines: string[] = [];
  if (miss) lines.push(`  cache miss: ${CAUSES[miss.cause]}, ${count(miss.missedTokens)} tokens`);
  if (diagnosis) {
    const { reason, missedTokens } = diagnosis;
    const missed = missedTokens === undefined ? "" : `, ${count(missedTokens)} tokens`;
    lines.push(`  cache miss, as the provider says: ${reason}${missed}`);
  }
  return lines;
}

const CAUSES = {
  model: "another model",
  system: "the system prompt changed",
  tools: "the tools changed",
  messages: "earlier messages changed",
  time: "nothing changed, but the last request is more than 5 minutes old",
  unknown: "nothing changed",
} as const;

/** Sources that every request of the session starts with; the budget covers the rest. */
const FIXED: ReadonlySet<ReceiptPart["source"]> = new Set(["system", "instructions", "tools"]);

function sizes({ parts, tokens, tokenBudget }: Receipt): string {
  const fixed = parts.reduce((sum, part) => sum + (FIXED.has(part.source) ? part.tokens : 0), 0);
  return `system and tools ${count(fixed)}; conversation ${count(tokens - fixed)} of ${count(tokenBudget)}`;
}

const PURPOSES: Readonly<Record<string, string>> = { compaction: "a summary for a compaction" };

/** A mark on a request that is no part of a turn's talk. */
function purposeOf({ purpose }: Receipt): string {
  if (purpose === undefined) return "";
  return `: ${Object.hasOwn(PURPOSES, purpose) ? PURPOSES[purpose] : `the host's own, for ${purpose}`}, no answer to you`;
}

/** One request: its model, runtime and engine, the groups of parts in order, the shared prefix, and what was trimmed. */
export function receiptText(receipt: Receipt): string {
  const { parts } = receipt;
  let index = 0;
  const rows = groupParts(parts).map((group) => {
    const start = index;
    index += group.parts.length;
    const shared = Math.max(0, Math.min(group.parts.length, receipt.sharedParts - start));
    const mark = shared === group.parts.length ? "shared" : shared > 0 ? `${shared} shared` : "new";
    return [`  ${group.source}`, count(group.parts.length), count(group.tokens), mark, idRange(group.parts)];
  });
  const epoch = receipt.epoch === undefined ? "" : `, epoch ${receipt.epoch}`;
  return [
    `Request ${receipt.request} of turn ${receipt.turnId}, ${time(receipt.timestamp)}${purposeOf(receipt)}`,
    `  model ${receipt.model}, runtime ${receipt.runtime}, seam ${receipt.seam}, engine ${receipt.engine}${epoch}`,
    ...(receipt.fallback === undefined
      ? []
      : [`  fallback for ${receipt.fallback.from} (${receipt.fallback.reason})`]),
    ...table(["  SOURCE", "PARTS", "TOKENS", "PREFIX", "ENTRIES"], rows, [1, 2]),
    `  ${sizes(receipt)} tokens, estimated`,
    `  shared prefix: ${plural(receipt.sharedParts, "part")}, ${count(receipt.sharedTokens)} tokens`,
    ...trimLines(parts),
    ...(receipt.degraded === undefined ? [] : [`  degraded: ${receipt.degraded}`]),
    usageLine(receipt),
    ...cacheLines(receipt),
  ].join("\n");
}

export function receiptsText(receipts: readonly Receipt[]): string {
  if (receipts.length === 0) return "No request to a model is recorded here yet.";
  return receipts.map(receiptText).join("\n\n");
}
