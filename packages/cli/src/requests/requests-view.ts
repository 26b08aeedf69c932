/** Reads captured bodies for the commands. */
import { dialectOf } from "@pagurus/gateway/dialect/dialects";
import type { Dialect, WireHeaders } from "@pagurus/gateway/dialect/wire-dialect";
import { viewBody, type BodyView } from "@pagurus/gateway/capture/elements";
import { plainBytes, readPart, type CaptureSession } from "@pagurus/gateway/capture/read-capture";
import type { CaptureRecord } from "@pagurus/gateway/capture/capture-record";

export interface ReadBody {
  view: BodyView;
  /** Decoded from its content encoding. */
  body: Buffer;
  notes: string[];
}

/** Headers by lower-case name, as a dialect expects them. */
export function wireHeaders(headers: readonly (readonly [name: string, value: string])[]): WireHeaders {
  return Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]));
}

/** A captured body, decoded; undefined where the request was not forwarded. */
export async function readBody(
  session: CaptureSession,
  record: CaptureRecord,
  about: { part: "harness" | "sent"; width: number },
): Promise<ReadBody | undefined> {
  const part = readPart(session, record, about.part);
  if (!part) return undefined;
  const body = plainBytes(part.bytes, record.headers);
  const dialect: Dialect = await dialectOf(record.api);
  const view = viewBody({
    api: record.api,
    path: record.path.replace(/\?.*$/, ""),
    headers: wireHeaders(record.headers),
    body,
    dialect,
    width: about.width,
  });
  return { view, body, notes: [...part.notes, ...(view.note === undefined ? [] : [view.note])] };
}
