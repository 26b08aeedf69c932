/** Rows of the inbox that several hosts share, and the events that go with their changes. */
import { PagurusError } from "@pagurus/contract/errors";
import { workOf, type WorkRow } from "@pagurus/inbox/rows";
import { imagesOf, withImages, withoutImages, type WorkImages } from "@pagurus/inbox/work-images";
import type { NewWork, Work } from "@pagurus/inbox/work";
import { defined } from "@pagurus/core/data/defined";

/** Adds an event for the row of `changed`, numbered in the order in which transactions end. */
export const WITH_EVENT = `counter AS (UPDATE {s}.counters SET events = events + 1
   WHERE tenant = current_user AND EXISTS (SELECT FROM changed) RETURNING events),
 event AS (INSERT INTO {s}.events (seq, work, agent, session, type, data)
   SELECT counter.events, work, agent, session, event_type, event_data FROM changed, counter)`;

/** Numbers come as such, not as text. */
export const COLUMNS = `id, seq::float8 AS seq, agent, session, kind, request, policy, origin, token, authority, idempotency, digest, state,
 into_work, outcome, error, posted::float8 AS posted, started::float8 AS started, ended::float8 AS ended, stop_asked`;

/** PostgreSQL stores no character 0. Throws `session_key_invalid`, `usage_invalid`. */
export function assertStorable({ agentId, sessionKey, idempotencyKey = "" }: NewWork): void {
  if (sessionKey.includes("\0"))
    throw new PagurusError(
      "session_key_invalid",
      `The session key ${JSON.stringify(sessionKey)} has the character 0; take it out.`,
    );
  if (agentId.includes("\0") || idempotencyKey.includes("\0"))
    throw new PagurusError(
      "usage_invalid",
      `The agent or the idempotency key of work in the session ${sessionKey} has the character 0; take it out.`,
    );
}

/** JSON of the images of work, for a column that no list reads; null without images. */
export function storedImages(work: NewWork): string | null {
  const images = imagesOf(work);
  return images.length === 0 ? null : JSON.stringify(images);
}

/** Work with its images. */
export function wholeWork(row: WorkRow & { images: string | null }): Work {
  return withImages(workOf(row), row.images === null ? [] : (JSON.parse(row.images) as WorkImages));
}

/** Work that was just posted. */
export function postedWork(
  work: NewWork,
  { id, seq, postedAt }: { id: string; seq: number; postedAt: number },
): Work {
  const { idempotencyKey, ...rest } = work;
  return {
    ...rest,
    request: withoutImages(work),
    ...defined({ idempotencyKey }),
    id,
    seq,
    state: "waiting",
    postedAt,
  };
}
