import { createHash } from "node:crypto";
import type { AdditionalContextEntry } from "@pagurus/contract/fragment";

/** Bytes of a value that the model sees: 1,000 tokens at Codex's four bytes a token. */
const MOST_BYTES = 4_000;
const BYTES_A_TOKEN = 4;

/** The wrapper's tag is the key, unescaped. Source: Codex's additional context. */
export function fragmentText(key: string, { value, kind }: AdditionalContextEntry): string {
  const tag = kind === "untrusted" ? `external_${key}` : key;
  return `<${tag}>${cutValue(value)}</${tag}>`;
}

/**
 * Cuts the middle of a value that is too long: keeps 2,000 bytes of either end, at character boundaries, and states how many tokens (four
 * bytes each) are missing. The same bytes as Codex makes.
 */
export function cutValue(value: string): string {
  const bytes = Buffer.from(value, "utf8");
  if (bytes.length <= MOST_BYTES) return value;
  const half = MOST_BYTES / 2;
  let headEnd = half;
  while (isContinuation(bytes[headEnd])) headEnd -= 1;
  let tailStart = bytes.length - half;
  while (isContinuation(bytes[tailStart])) tailStart += 1;
  const missing = Math.ceil((bytes.length - MOST_BYTES) / BYTES_A_TOKEN);
  const head = bytes.toString("utf8", 0, headEnd);
  return `${head}…${missing} tokens truncated…${bytes.toString("utf8", tailStart)}`;
}

/** A byte inside a character. */
function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

/** Hash of kind and whole value: equal for equal values, without revealing the value. */
export function markOf({ value, kind }: AdditionalContextEntry): string {
  return `${kind}:${createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 32)}`;
}
