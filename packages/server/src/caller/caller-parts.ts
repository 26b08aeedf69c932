/** The parts of a server as one caller may use them. Routes get these alone, so that none can act without the caller's authority. */
import type { PagurusHost } from "@pagurus/contract/host/pagurus-host";
import { checkPlace } from "@pagurus/core/authority/authority";
import type { Awaitable } from "@pagurus/inbox/inbox";
import type { WorkPlace } from "@pagurus/inbox/work";
import type { InspectedSessions } from "../inspect/inspected-sessions.ts";
import type { Caller } from "../access/caller.ts";
import type { ServerParts } from "../server-parts.ts";
import { callerBoard, type CallerBoard } from "./caller-board.ts";
import { callerJobs, type CallerJobs } from "./caller-jobs.ts";
import { callerTokens, type CallerTokens } from "./caller-tokens.ts";
import {
  callerApprovals,
  callerEvents,
  callerInbox,
  type CallerApprovals,
  type CallerEvents,
  type CallerInbox,
} from "./caller-work.ts";

export interface CallerParts extends Pick<
  ServerParts,
  "logins" | "streams" | "usages" | "folders" | "facts"
> {
  pagurus: PagurusHost;
  inspected: InspectedSessions;
  inbox: CallerInbox;
  events: CallerEvents;
  approvals: CallerApprovals;
  jobs: CallerJobs;
  board: CallerBoard;
  tokens: CallerTokens;
  /** Removes what the server has of a session that was deleted. */
  forget(place: WorkPlace): Awaitable<void>;
}

/** The parts that all callers share; the sessions are those of the API alone. */
export type SharedParts = ServerParts & { inspected: InspectedSessions };

export function partsFor(parts: SharedParts, caller: Caller): CallerParts {
  const host = parts.host.as(caller);
  const scope = { caller, host, parts };
  const { logins, streams, inspected, usages, folders, facts } = parts;
  return {
    logins,
    streams,
    inspected,
    usages,
    folders,
    facts,
    pagurus: host,
    inbox: callerInbox(scope),
    events: callerEvents(scope),
    approvals: callerApprovals(scope),
    board: callerBoard(caller, parts),
    jobs: callerJobs(caller, host, parts.jobs),
    tokens: callerTokens(caller, parts.tokens),
    forget: (place) => {
      checkPlace(caller, place);
      return parts.forget(place);
    },
  };
}
