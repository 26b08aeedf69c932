/** What a server keeps of its work. */
import type { Approvals } from "./approvals.ts";
import type { EventLog } from "./event-log.ts";
import type { Inbox } from "./inbox.ts";

export interface WorkStore {
  inbox: Inbox;
  events: EventLog;
  approvals: Approvals;
  /** Stores what is on its way, and gives back what this host still claims. Never throws. */
  close(): Promise<void>;
}
