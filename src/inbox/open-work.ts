/** Opens where a server keeps its work: its own database, or the one that several hosts share. */
import type { Database } from "../data/sqlite.ts";
import type { Logger } from "../platform/log.ts";
import { LocalApprovals } from "./local-approvals.ts";
import { LocalEvents } from "./local-events.ts";
import { LocalInbox } from "./local-inbox.ts";
import type { SharedPlace } from "./postgres/shared-work.ts";
import type { WorkStore } from "./work-store.ts";

export function localWork(db: Database, logger?: Logger): WorkStore {
  const events = new LocalEvents(db, logger);
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
  const { openSharedWork } = await import("./postgres/shared-work.ts");
  return openSharedWork(place, logger);
}
