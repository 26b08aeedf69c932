/** Captured bodies as the commands read them. */
import { dialectOf } from "../gateway/wire/dialect/dialects.ts";
import type { Dialect, WireHeaders } from "../gateway/wire/dialect/dialect.ts";
import { viewBody, type BodyView } from "../gateway/wire/capture/elements.ts";
import { plainBytes, readPart, type CaptureSession } from "../gateway/wire/capture/read.ts";
import type { CaptureRecord } from "../gateway/wire/capture/record.ts";

export interface ReadBody {
  view: BodyView;
  /** Without its content encoding. */
  body: Buffer;
  notes: string[];
}

/** Names in lower case, as a dialect takes them. */
export function wireHeaders(headers: readonly (readonly [name: string, value: string])[]): WireHeaders {
  return Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]));
}

/** Undefined where the request was not sent on. */
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
