/** What the thread of the database and the host say to each other about sessions. */

/** Who writes to a session; kept in its row. */
export interface Holder {
  host: string;
  pid: number;
  /** ISO 8601. */
  since: string;
  /** The mirror that the writer works in: two writers of one mirror exclude each other by its lock file. */
  mirror: string;
  /** Names the process in its claims of work as well. */
  process: string;
  /** Distinguishes two leases of one mirror. */
  nonce: string;
}

/** One host's words for another's. */
export function nameOf({ pid, host, since }: Holder): string {
  return `process ${pid} on ${host}, since ${since}`;
}

export interface SharedSession {
  sessionId: string;
  key: string;
  generation: number;
  precedence: number;
  bytes: number;
  /** Counts how often the whole transcript was replaced. */
  revision: number;
  /** Length of its receipts. */
  receiptBytes: number;
  /** A live writer; null where none is. */
  holder: Holder | null;
}

/** Sessions as of one look into the database. */
export interface Look {
  sessions: SharedSession[];
  removed: string[];
  /** Everything that ended before this transaction id is in this look, or in an earlier one. */
  horizon: string;
}

export interface AcquireRequest {
  agent: string;
  sessionId: string;
  /** The new epoch is greater than this one. */
  floor: number;
  holder: Holder;
}

export type Acquired =
  | { state: "won"; epoch: number; takenFrom: Holder | null; session: SharedSession }
  | { state: "held"; holder: Holder }
  | { state: "absent" };

export interface AheadRequest {
  agent: string;
  key: string;
  /** The key's current session as far as this host knows; null where it knows none. */
  sessionId: string | null;
  holder: Holder;
}

export interface Ahead {
  /** All sessions of the key. */
  sessions: SharedSession[];
  /** The live program that holds the key. */
  hold: { holder: Holder; folder: string | null } | null;
  /** The lease, where it was free and no program of another host holds the key. */
  won: (Acquired & { state: "won" }) | null;
}

export interface AppendRequest {
  /** The writer's lease: the nonce of its holder. */
  lane: string;
  at: number;
  bytes: Uint8Array;
  /** Otherwise they may wait a moment for those that follow. */
  isWaitedFor: boolean;
}

export interface ReceiptsRequest {
  agent: string;
  sessionId: string;
  /** Of the lease that this host had last. */
  epoch: number;
  at: number;
  bytes: Uint8Array;
}

export interface PublishRequest {
  agent: string;
  /** The host's folder of mirrors. */
  mirror: string;
  sessionId: string;
  /** Local file with the bytes. */
  file: string;
  key: string;
  generation: number;
  precedence: number;
  folder: string | null;
  replaces: boolean;
  /** The lease under which it is published. */
  lane: string | undefined;
  nonce: string;
}

/** The streams of bytes of a session. */
export type StreamName = "transcript" | "receipts";

export interface MirrorRequest {
  agent: string;
  sessionId: string;
  stream: StreamName;
  /** The local file. */
  file: string;
  /** Gets local bytes that the database does not have. */
  unsent: string;
  /** Bytes of the local file that are known to be those of the database. */
  confirmed: number;
}

export interface Mirrored {
  /** Of the database. */
  bytes: number;
  revision: number;
  /** Local bytes that were moved to the file of unsent ones. */
  setAside: number;
}
