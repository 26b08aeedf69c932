/** What the routes of the server work with. */
import type { PagurusHost } from "@pagurus/contract/host/pagurus-host";
import type { FolderFiles } from "@pagurus/host/tool/files/folder-files";
import type { Approvals } from "@pagurus/inbox/approvals";
import type { Dispatcher } from "@pagurus/inbox/dispatcher";
import type { EventLog } from "@pagurus/inbox/event-log";
import type { Awaitable, Inbox } from "@pagurus/inbox/inbox";
import type { WorkPlace } from "@pagurus/inbox/work";
import type { SessionUsages } from "./inspect/requests/session-usage.ts";
import type { Jobs } from "@pagurus/inbox/schedule/jobs";
import type { BrowserLogins } from "./access/browser-logins.ts";
import type { OpenByToken } from "./access/open-by-token.ts";
import type { Tokens } from "./access/tokens.ts";
import type { RequestBodies } from "./api/request-bodies.ts";
import type { HostBoard } from "./board/host-board.ts";
import type { OpenStreams } from "./open-streams.ts";

export interface ServerParts {
  /** Nothing is done with it but through `as`: with the authority of a caller. */
  host: PagurusHost;
  inbox: Inbox;
  events: EventLog;
  approvals: Approvals;
  dispatcher: Dispatcher;
  tokens: Tokens;
  logins: BrowserLogins;
  opened: OpenByToken;
  streams: OpenStreams;
  jobs: Jobs;
  usages: SessionUsages;
  folders: FolderFiles;
  board: HostBoard;
  facts: ServerFacts;
  /** Secrets that reports leave out; read again for each report. */
  secrets(): readonly string[];
  /** Reads the bodies of requests. */
  bodies: RequestBodies;
  /** Removes what the server has of a session that was deleted. */
  forget(place: WorkPlace): Awaitable<void>;
}

export interface ServerFacts {
  version: string;
  pid: number;
  /** Address of this server, such as `http://127.0.0.1:7117`. */
  url: string;
  home: string;
  /** ISO 8601. */
  startedAt: string;
}
