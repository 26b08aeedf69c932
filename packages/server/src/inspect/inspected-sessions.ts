/** Sessions as the inspector reads them: what was read of the last few ones is kept, and read on from there. */
import type { SessionStore } from "@pagurus/contract/session/store";
import type { SessionReader, SessionRecord } from "@pagurus/contract/session/writer";
import { PagurusError } from "@pagurus/contract/errors";
import { bodyDiff, type DividedBody } from "./requests/body-diff.ts";
import type {
  InspectedRequest,
  LeftOutEntry,
  RedactedKind,
  RequestDiff,
  TimelineItem,
} from "@pagurus/api/types";
import { requestParts, type RequestParts } from "./requests/request-parts.ts";
import { SessionRequests } from "./requests/session-requests.ts";
import { StoredRequestBody } from "./requests/stored-body.ts";
import { ReportRedaction } from "./report/report-redaction.ts";
import { requestReport } from "./report/request-report.ts";
import { sessionReport } from "./report/session-report.ts";
import { leftOut } from "./timeline/left-out.ts";
import { sessionEntries } from "./timeline/session-entries.ts";
import { SessionOutline } from "./timeline/session-outline.ts";
import { newestItems, Timeline } from "./timeline/timeline-items.ts";

/** Sessions and requests of which something is kept. */
const MOST_SESSIONS = 4;
const MOST_READ_AT_ONCE = 4;

export interface InspectedPlace {
  home: string;
  agentId: string;
  sessionKey: string;
  store: SessionStore;
}

/** The sessions that were opened last. */
export class InspectedSessions {
  readonly #secrets: () => readonly string[];
  readonly #sessions = new Map<string, InspectedSession>();

  /** `secrets`: values that no report has; read for each. */
  constructor(secrets: () => readonly string[] = () => []) {
    this.#secrets = secrets;
  }

  /** For `InspectedSession.report`. */
  redaction(kinds: readonly RedactedKind[]): ReportRedaction {
    return new ReportRedaction(kinds, this.#secrets());
  }

  /** Throws `session_not_found` for a key without a session. */
  open(place: InspectedPlace): InspectedSession {
    const record = place.store.find(place.sessionKey);
    if (!record)
      throw new PagurusError(
        "session_not_found",
        `There is no session ${JSON.stringify(place.sessionKey)}; GET /api/v1/sessions lists them.`,
      );
    const key = `${place.agentId}\0${record.file}`;
    const session = this.#sessions.get(key) ?? new InspectedSession(place, record);
    keptValue(this.#sessions, key, session, MOST_SESSIONS);
    return session;
  }
}

export class InspectedSession {
  readonly #place: InspectedPlace;
  readonly #file: string;
  readonly #requests: SessionRequests;
  readonly #outline: SessionOutline;
  readonly #line: Timeline;
  /** Also while they are computed: a page asks for a request and its parts at the same time. */
  readonly #parts = new Map<string, Promise<RequestParts>>();
  readonly #leftOut = new Map<string, LeftOutEntry[]>();
  /** The items of these rows, and of so many entries of the outline. */
  #timeline:
    | { rows: readonly InspectedRequest[]; entries: number; items: readonly TimelineItem[] }
    | undefined;

  constructor(place: InspectedPlace, record: SessionRecord) {
    this.#place = place;
    this.#file = record.file;
    this.#requests = new SessionRequests(place, record);
    this.#outline = new SessionOutline(record.file);
    this.#line = new Timeline(this.#outline);
  }

  /** Oldest first. Throws `store_read_failed`. */
  requests(): Promise<readonly InspectedRequest[]> {
    return this.#requests.rows();
  }

  /** Throws `entry_not_found`, `store_read_failed`. */
  async request(id: string): Promise<InspectedRequest> {
    const row = await this.#requests.row(id);
    if (row) return row;
    throw new PagurusError(
      "entry_not_found",
      `The session ${JSON.stringify(this.#place.sessionKey)} has no model request ${JSON.stringify(id)}; GET /api/v1/sessions/{key}/requests lists them.`,
      { details: { id } },
    );
  }

  /** Throws `entry_not_found`, `store_read_failed`. */
  async parts(id: string): Promise<RequestParts> {
    return this.partsOf(await this.request(id));
  }

  /** Of a row that was read just now. Throws `store_read_failed`. */
  async partsOf(row: InspectedRequest): Promise<RequestParts> {
    // Usage comes later than the receipt, and with it what was cached.
    const { number, status, totalMs } = row.captured ?? {};
    const key = [row.id, row.usage === undefined, number, status, totalMs].join(" ");
    const known = this.#parts.get(key);
    if (known) return known;
    const parts = this.#divided(row);
    keptValue(this.#parts, key, parts, MOST_READ_AT_ONCE);
    parts.catch(() => this.#parts.delete(key));
    return parts;
  }

  async #divided(row: InspectedRequest): Promise<RequestParts> {
    await this.#outline.refresh();
    const reader = this.#reader();
    try {
      const [receipt, capture] = [this.#requests.receipt(row), this.#requests.capture(row)];
      const [session, outline] = [this.#place, this.#outline];
      return await requestParts({ session, reader, outline, row, receipt, capture });
    } finally {
      reader.close();
    }
  }

  /**
   * What changed since another request, by default the one before it of the same runtime. Throws `entry_not_found` where there is none,
   * `store_read_failed`.
   */
  async diff(id: string, since?: string): Promise<RequestDiff> {
    const row = await this.request(id);
    const rows = this.#requests.read;
    const earlier = rows.slice(0, rows.indexOf(row));
    const before =
      since === undefined ? earlier.findLast((other) => isLike(other, row)) : await this.request(since);
    if (!before)
      throw new PagurusError(
        "entry_not_found",
        `The request ${JSON.stringify(id)} is the first of its runtime, so there is none to compare it with; name one with "since".`,
      );
    const [one, other] = [await this.#withBody(before), await this.#withBody(row)];
    if (typeof one === "string") return { before: before.id, captured: false, why: one };
    if (typeof other === "string") return { before: before.id, captured: false, why: other };
    return { before: before.id, captured: true, ...bodyDiff(one, other) };
  }

  /** Why there is no body, as a sentence, where there is none. */
  async #withBody(row: InspectedRequest): Promise<DividedBody | string> {
    const parts = await this.partsOf(row);
    if (!parts.captured) return parts.why;
    const capture = this.#requests.capture(row);
    const stored = capture && StoredRequestBody.sent(this.#place, capture, row.captured?.attempt ?? 1);
    const body = await stored?.whole();
    return body ? { body, parts: parts.parts } : "The captured body was deleted meanwhile.";
  }

  /** A range of the decoded body; undefined where it is not captured. Throws `entry_not_found`, `store_read_failed`. */
  async body(id: string, from: number, to: number): Promise<Buffer | undefined> {
    const row = await this.request(id);
    const capture = this.#requests.capture(row);
    return (
      capture && StoredRequestBody.sent(this.#place, capture, row.captured?.attempt ?? 1)?.range(from, to)
    );
  }

  /**
   * Oldest first; undefined for a request without a receipt, and for one that is not a turn's own, which shows no conversation. Throws
   * `entry_not_found`, `store_read_failed`.
   */
  async leftOut(id: string): Promise<LeftOutEntry[] | undefined> {
    const receipt = this.#requests.receipt(await this.request(id));
    if (!receipt || receipt.purpose !== undefined) return undefined;
    const known = this.#leftOut.get(id);
    if (known) return known;
    await this.#outline.refresh();
    const entries = leftOut(this.#outline, receipt);
    keptValue(this.#leftOut, id, entries, MOST_READ_AT_ONCE);
    return entries;
  }

  /** Oldest first. Throws `store_read_failed`. */
  async timeline(): Promise<readonly TimelineItem[]> {
    const rows = await this.#requests.rows();
    await this.#outline.refresh();
    const entries = this.#outline.entries.length;
    // A page looks every few seconds, mostly at a session in which nothing has happened.
    if (this.#timeline?.rows !== rows || this.#timeline.entries !== entries)
      this.#timeline = { rows, entries, items: this.#line.items(rows) };
    return this.#timeline.items;
  }

  /** The item that an entry belongs to, and how many are newer; undefined where there is none. Throws `store_read_failed`. */
  async placeOf(entryId: string): Promise<{ item: string; newer: number } | undefined> {
    const items = await this.timeline();
    const turnId = this.#outline.get(entryId)?.turnId;
    const own = items.findIndex(({ id }) => id === entryId);
    const at = own >= 0 ? own : items.findIndex((item) => item.kind === "turn" && item.turnId === turnId);
    const item = items[at];
    return item && { item: item.id, newer: items.length - 1 - at };
  }

  /**
   * The newest items, about `most`, of a long session whose line of time was not read so far, oldest first; undefined for every other. The whole one has
   * them too, with the same ids. Throws `store_read_failed`.
   */
  async newestItems(most: number): Promise<readonly TimelineItem[] | undefined> {
    if (this.#timeline) return undefined;
    const outline = await SessionOutline.ofEnd(this.#file);
    return outline && newestItems(outline, most, (since) => this.#requests.newest(since));
  }

  /**
   * The session, or one request of it, as one HTML file, in pieces; the file is complete when they end. Throws `entry_not_found` before the
   * first piece, `store_read_failed`.
   */
  async report(redaction: ReportRedaction, request?: string): Promise<AsyncGenerator<string>> {
    const { sessionKey: key, agentId } = this.#place;
    if (request === undefined) {
      const items = await this.timeline();
      return sessionReport({ key, agentId, items, entries: sessionEntries(this.#file) }, redaction);
    }
    const row = await this.request(request);
    const [parts, left] = [await this.partsOf(row), await this.leftOut(row.id)];
    const outline = await this.outline();
    return requestReport(
      {
        key,
        row,
        parts,
        leftOut: left,
        roleOf: (id) => outline.get(id)?.role,
        body: (from, to) => this.body(row.id, from, to),
      },
      redaction,
    );
  }

  /** Up to date. Throws `store_read_failed`. */
  async outline(): Promise<SessionOutline> {
    await this.#outline.refresh();
    return this.#outline;
  }

  #reader(): SessionReader {
    return this.#place.store.openReader(this.#place.sessionKey);
  }
}

/** Whether a request continues what another began: both a turn's own, or both for one purpose, in the same runtime. */
function isLike(one: InspectedRequest, other: InspectedRequest): boolean {
  return (
    one.runtime === other.runtime &&
    one.purpose === other.purpose &&
    one.captured?.kind === other.captured?.kind
  );
}

/** Keeps a value as the newest, and at most `most` of them. */
function keptValue<V>(values: Map<string, V>, key: string, value: V, most: number): void {
  values.delete(key);
  values.set(key, value);
  for (const oldest of values.keys()) if (values.size > most) values.delete(oldest);
}
