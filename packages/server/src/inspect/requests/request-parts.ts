/** The parts of one request: of its captured body where there is one, else what its receipt has of them. */
import type {
  InspectedPart,
  InspectedRequest,
  PartSource,
  RequestDetails,
  SourceSum,
} from "@pagurus/api/types";
import { renderSummary } from "@pagurus/contract/engine/summary";
import type { AgentMessage } from "@pagurus/contract/message";
import type { Receipt, ReceiptPart } from "@pagurus/contract/session/receipt";
import type { TranscriptEntry } from "@pagurus/contract/session/transcript";
import type { SessionReader } from "@pagurus/contract/session/writer";
import { FRAGMENT_ENTRY } from "@pagurus/contract/fragment";
import { asString, fieldOf } from "@pagurus/core/data/record-fields";
import type { CaptureRecord } from "@pagurus/gateway/capture/capture-record";
import { Pace } from "@pagurus/core/platform/pace";
import type { CaptureSession } from "@pagurus/gateway/capture/read-capture";
import { partsInSlices, readBlocks } from "../parts/body-parts.ts";
import type { BodyPart } from "../parts/body-part.ts";
import { wordsOf } from "../parts/part-words.ts";
import { sourceOf } from "../parts/known-parts.ts";
import { markWords } from "../parts/words-as-sent.ts";
import type { SessionOutline } from "../timeline/session-outline.ts";
import { StoredRequestBody } from "./stored-body.ts";
import { defined } from "@pagurus/core/data/defined";

export type RequestParts =
  | { captured: true; body: NonNullable<RequestDetails["body"]>; parts: BodyPart[] }
  | {
      captured: false;
      /** Why there is no body, as a sentence. */
      why: string;
      parts: InspectedPart[];
    };

export interface PartsRequest {
  session: CaptureSession;
  reader: Pick<SessionReader, "cursor">;
  /** Up to date. */
  outline: Pick<SessionOutline, "contents" | "get">;
  row: InspectedRequest;
  receipt: Receipt | undefined;
  capture: CaptureRecord | undefined;
}

export async function requestParts(request: PartsRequest): Promise<RequestParts> {
  const { session, row, receipt, capture } = request;
  const attempt = row.captured?.attempt ?? 1;
  const stored =
    capture && !isUnsure(capture, attempt) ? StoredRequestBody.sent(session, capture, attempt) : undefined;
  const body = await stored?.whole();
  if (!capture || !stored || !body)
    return {
      captured: false,
      why: whyNot(request),
      parts: (receipt?.parts ?? []).map((part) => receiptOnly(part, request.outline)),
    };
  const isChanged = capture.sent[attempt - 1]?.body !== "same";
  const harness = isChanged ? await StoredRequestBody.harness(session, capture).whole() : undefined;
  const { api } = capture;
  const blocks = await inSlices(readBlocks({ api, body }));
  const ids = await inSlices(markWords(blocks ?? [], receipt?.parts ?? []));
  const messages = await messagesOf(request, ids);
  const divided = await inSlices(partsInSlices({ api, body, blocks, harness, receipt, messages }));
  const parts = divided.map((part) => ({ ...part, ...defined({ words: wordsOf(part, body) }) }));
  return {
    captured: true,
    body: { bytes: body.length, isEncoded: stored.isEncoded, notes: notesOn(stored) },
    parts,
  };
}

function notesOn({ about }: StoredRequestBody): string[] {
  const notes: string[] = [];
  if (about.stored < about.bytes)
    notes.push(
      `${about.bytes - about.stored} bytes of the body were not stored: ${about.cut ?? "it was cut"}.`,
    );
  if (about.redacted !== undefined) notes.push(`Secrets are covered by stars in ${about.redacted} places.`);
  return notes;
}

/** A changed body that is still being written, or whose process ended meanwhile: its record says so only at the end. */
function isUnsure({ outcome, sent }: CaptureRecord, attempt: number): boolean {
  const { body, replaced } = sent[attempt - 1] ?? {};
  return outcome === undefined && body === "same" && replaced === true;
}

/** Where the runtime's bodies can be captured, and what to do for it. */
function whyNot({ row, capture }: PartsRequest): string {
  if (capture && capture.sent.length === 0)
    return "The request was answered by the host and not sent to a model, so there is no body that a model got.";
  if (capture)
    return "The captured body was deleted, is still being written, or the process ended while it was written.";
  if (row.purpose !== undefined)
    return `The request was the host's own, for the purpose ${row.purpose}; the bodies of these are not captured, and the parts are those of its receipt.`;
  if (row.seam === "thread" || row.seam === "projection")
    return `The program of the runtime ${row.runtime} builds its requests itself and sends them past the host, so their bodies are not captured; the parts are those that the host gave to it. With context: "wire" in the runtime's settings they pass the model gateway, which captures them.`;
  return "The body is not captured: gateway.capture was off when the request was sent (pagurus config set gateway.capture true), or the capture was removed, as the oldest are beyond gateway.capture.maxBytes.";
}

function receiptOnly(part: ReceiptPart, outline: Pick<SessionOutline, "get">): InspectedPart {
  const { role, entryId, path, tokens, bytes, trimmed } = part;
  return {
    source: sourceOf(part),
    role,
    ...(entryId === undefined ? {} : { entryIds: [entryId] }),
    ...defined({ path, words: entryId === undefined ? undefined : outline.get(entryId)?.snippet }),
    tokens,
    bytes,
    ...defined({ trimmed }),
  };
}

/** The result of work that yields, with other work of the process in between. */
async function inSlices<T>(work: Generator<undefined, T>): Promise<T> {
  const pace = new Pace();
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    if (pace.due) await pace.rest();
  }
}

async function messagesOf(
  { outline, reader: { cursor } }: PartsRequest,
  ids: Set<string>,
): Promise<Map<string, AgentMessage>> {
  const messages = new Map<string, AgentMessage>();
  const take = (entry: TranscriptEntry | undefined): void => {
    const message = entry && messageOf(entry);
    if (message) messages.set(entry.id, message);
    if (entry) ids.delete(entry.id);
  };
  for await (const entry of outline.contents(ids)) take(entry);
  // Those whose line another program has moved.
  for (const id of ids) take(await cursor.get(id));
  return messages;
}

function messageOf(entry: TranscriptEntry): AgentMessage | undefined {
  if (entry.type === "message") return entry.message;
  if (entry.type === "compaction") return { role: "user", content: renderSummary(entry.summary) };
  if (entry.type === "custom_message") return { role: "user", content: entry.content };
  if (entry.type !== "custom" || entry.customType !== FRAGMENT_ENTRY) return undefined;
  const text = asString(fieldOf(entry.data, "text"));
  return text === undefined ? undefined : { role: "user", content: text };
}

/** Bytes and tokens of each source, largest first. */
export function sourceSums(parts: readonly (BodyPart | InspectedPart)[]): SourceSum[] {
  const sums = new Map<PartSource, SourceSum>();
  for (const part of parts) {
    const bytes = "bytes" in part ? part.bytes : part.to - part.from;
    const sum = sums.get(part.source) ?? { source: part.source, parts: 0, bytes: 0, tokens: 0 };
    sums.set(part.source, {
      ...sum,
      parts: sum.parts + 1,
      bytes: sum.bytes + bytes,
      tokens: sum.tokens + part.tokens,
    });
  }
  return [...sums.values()].toSorted((a, b) => b.bytes - a.bytes);
}
