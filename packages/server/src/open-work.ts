/** Opens where a server keeps its work: its own database, or the one that several hosts share. */
import type { Clock } from "@pagurus/core/data/clock";
import type { Database } from "@pagurus/core/data/sqlite";
import type { Logger } from "@pagurus/core/platform/log";
import { LocalApprovals } from "@pagurus/inbox/local-approvals";
import { LocalEvents } from "@pagurus/inbox/local-events";
import { LocalInbox } from "@pagurus/inbox/local-inbox";
import type { SharedPlace } from "@pagurus/postgres/inbox/shared-work";
import type { WorkStore } from "@pagurus/inbox/work-store";

export function localWork(db: Database, logger?: Logger, clock?: Clock): WorkStore {
  const events = new LocalEvents(db, logger, clock);
  const inbox = new LocalInbox({ db, events });
  const approvals = new LocalApprovals(db, events);
  const close = async (): Promise<void> => {
    inbox.close();
    events.close();
  };
  return { inbox, events, approvals, close };
}

/** Its driver is loaded only here. Throws `store_read_failed`, `store_write_failed`. */
export async function sharedWork(place: SharedPlace, logger: Logger): Promise<WorkStore> {
  const { openSharedWork } = await import("@pagurus/postgres/inbox/shared-work");
  return openSharedWork(place, logger);
}
