/**
 * Keeps signed thinking only where it is valid. A provider binds the thinking of an answer to the system prompt and the messages before it:
 * after an engine or a compaction has changed them, the request is refused. Source: facts of the provider, "The provider's rule on
 * thinking".
 */
import { createHash } from "node:crypto";
import { RecentMap } from "@pagurus/core/data/recent-map";
import { type Fields, filledString, recordOf } from "@pagurus/core/data/record-fields";
import {
  arrayElements,
  arrayObjects,
  parsePart,
  textAt,
  wholeMembers,
  type ObjectSpan,
  type Span,
} from "../json/scan.ts";
import { unmarked } from "./unmarked.ts";

/** More signatures than a context has answers. */
const MOST_KNOWN = 4_096;
const NAMES = ["thinking", "redacted_thinking"];
const KINDS: readonly unknown[] = NAMES;

/** The messages before each answer, as they were sent when its thinking was made. */
export class ThinkingBinds {
  /** By the signature's digest: a signature may be as long as the thinking that it signs. */
  readonly #made = new RecentMap<string, string>(MOST_KNOWN);

  /** `before`: digest of the request that was answered with this thinking. */
  note(signature: string, before: string): void {
    this.#made.set(thinkingDigest(signature), before);
  }

  before(signature: string): string | undefined {
    return this.#made.get(thinkingDigest(signature));
  }
}

export interface BoundRequest {
  /** The body to send. */
  body: Buffer;
  /** Digest of its messages, for the thinking of the answer. */
  digest: string;
  /** Answers whose thinking was left out. */
  dropped: number;
}

export interface BindOptions {
  binds: ThinkingBinds;
  /** The program's own request; its thinking from before this gateway is valid after its own messages. */
  own: Buffer;
  /** Text that the engine adds to the system prompt. */
  addition: string;
  /** The model refuses thinking after other messages also in the running tool loop; others refuse a loop without thinking. */
  isStrict: boolean;
}

/** Undefined for a body that is no request of the Messages API. Throws `JsonScanError`. */
export function withBoundThinking(
  body: Buffer,
  { binds, own, addition, isStrict }: BindOptions,
): BoundRequest | undefined {
  const list = wholeMembers(body).get("messages");
  const elements = list && arrayObjects(body, list);
  if (!elements) return undefined;
  const isOwn = body === own;
  let native: ReadonlyMap<string, string> | undefined;
  const loop = loopStart(body, elements);
  let digest = thinkingDigest(addition);
  let dropped = 0;
  const parts: Buffer[] = [];
  for (const [index, element] of elements.entries()) {
    const signature = signatureOf(body, element);
    let bytes = body.subarray(element.start, element.end);
    if (signature !== undefined) {
      const made = binds.before(signature) ?? (isOwn ? digest : (native ??= digestsOf(own)).get(signature));
      if (made !== digest && (isStrict || index < loop)) {
        bytes = withoutThinking(body, element);
        dropped += 1;
      }
    }
    if (bytes.length === 0) continue;
    digest = thinkingDigest(digest, unmarked(bytes));
    parts.push(bytes);
  }
  if (dropped === 0) return { body, digest, dropped };
  const joined = parts.flatMap((part, index) => (index === 0 ? [part] : [COMMA_BYTES, part]));
  const before = body.subarray(0, list.start + 1);
  return { body: Buffer.concat([before, ...joined, body.subarray(list.end - 1)]), digest, dropped };
}

const COMMA_BYTES = Buffer.from(",");
const THINKING = NAMES.map((kind) => Buffer.from(`"${kind}"`));
const RESULT = Buffer.from('"tool_result"');

function thinkingDigest(text: string, parts: readonly Buffer[] = []): string {
  const hash = createHash("sha256").update(text);
  for (const part of parts) hash.update(part);
  return hash.digest("hex");
}

/** Digests before each answer with thinking in the program's own request, by its signature. */
function digestsOf(own: Buffer): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const list = wholeMembers(own).get("messages");
  let digest = thinkingDigest("");
  for (const element of (list && arrayObjects(own, list)) ?? []) {
    const signature = signatureOf(own, element);
    if (signature !== undefined) found.set(signature, digest);
    digest = thinkingDigest(digest, unmarked(own.subarray(element.start, element.end)));
  }
  return found;
}

/** The first signature of an answer's thinking; undefined if it has none. */
function signatureOf(body: Buffer, { start, end, members }: ObjectSpan): string | undefined {
  const bytes = body.subarray(start, end);
  if (!THINKING.some((kind) => bytes.includes(kind))) return undefined;
  if (textAt(body, members.get("role")) !== "assistant") return undefined;
  const block = blocksOf(body, members.get("content")).find(({ value }) => KINDS.includes(value["type"]));
  return filledString(block?.value["signature"]) ?? filledString(block?.value["data"]);
}

function blocksOf(body: Buffer, content: Span | undefined): { span: Span; value: Fields }[] {
  if (!content || body[content.start] !== OPEN_ARRAY) return [];
  return arrayElements(body, content).map((span) => ({ span, value: recordOf(parsePart(body, span)) }));
}

const OPEN_ARRAY = 0x5b;

/**
 * Index after the user's last turn without tool results: the running tool loop begins there. The provider merges messages between two
 * answers to one turn, so words after or before results do not end the loop.
 */
function loopStart(body: Buffer, elements: readonly ObjectSpan[]): number {
  let loop = elements.length;
  let isInput = false;
  let hasResult = false;
  for (const [index, { start, end, members }] of [...elements.entries()].toReversed()) {
    const role = textAt(body, members.get("role"));
    if (role === "assistant") {
      if (isInput && !hasResult) return loop;
      [loop, isInput, hasResult] = [index, false, false];
    } else {
      isInput ||= role === "user";
      hasResult ||= body.subarray(start, end).includes(RESULT);
    }
  }
  return isInput && !hasResult ? loop : 0;
}

/** The message's bytes without its thinking; empty if nothing is left. */
function withoutThinking(body: Buffer, { start, end, members }: ObjectSpan): Buffer {
  const content = members.get("content");
  const kept = blocksOf(body, content).filter(({ value }) => !KINDS.includes(value["type"]));
  if (!content || kept.length === 0) return Buffer.alloc(0);
  const blocks = kept.flatMap(({ span }, index) => {
    const bytes = body.subarray(span.start, span.end);
    return index === 0 ? [bytes] : [COMMA_BYTES, bytes];
  });
  return Buffer.concat([
    body.subarray(start, content.start + 1),
    ...blocks,
    body.subarray(content.end - 1, end),
  ]);
}
