/** Bodies of `/api/v1` as the served OpenAPI document describes them; a test compares them with its schemas. */
import type { AdditionalContext } from "@pagurus/contract/fragment";
import type { CompactionReport } from "@pagurus/contract/host/reports";
import type { InputPart } from "@pagurus/contract/host/run";
import type { ReceiptPart } from "@pagurus/contract/session/receipt";
import type { TurnEvent } from "@pagurus/contract/host/events";

export type Scope = "read" | "chat" | "admin";
export type WorkOutcome = "completed" | "failed" | "aborted" | "interrupted" | "steered" | "withdrawn";

export interface Session {
  key: string;
  /** Id of the current generation. */
  id: string;
  agent: string;
  cwd: string;
  /** ISO 8601. */
  createdAt: string;
  updatedAt: string;
  entries: number;
  turns: number;
  bytes: number;
  name?: string | undefined;
  title?: string | undefined;
  folder?: string | undefined;
  generation: number;
}

/** A turn, a compaction or a plugin's command, from its acceptance to its end. */
export interface Work {
  /** Also the id of its turn. */
  id: string;
  session: string;
  agent: string;
  kind: "turn" | "compaction" | "command";
  policy: "queue" | "steer" | "interrupt";
  origin: string;
  state: "waiting" | "running" | "steering" | "ended";
  outcome?: WorkOutcome | undefined;
  /** The work whose turn it joined. */
  intoWork?: string | undefined;
  error?: { code: string; message: string } | undefined;
  /** Work of the session before it that has not ended. */
  ahead: number;
  /** ISO 8601. */
  postedAt: string;
  startedAt?: string | undefined;
  endedAt?: string | undefined;
}

/** A command of a plugin. */
export interface Command {
  /** Without the slash. */
  name: string;
  aliases?: readonly string[] | undefined;
  /** Its arguments, for a list of commands. */
  usage: string;
  summary: string;
}

export interface SessionDetails extends Session {
  work: Work[];
  /** The process that writes to it now. */
  runningIn?: { pid: number; since: string } | undefined;
}

export interface Turn {
  prompt: string;
  /** After the prompt. */
  parts?: InputPart[] | undefined;
  /** When a turn runs in the session: wait for it (default), join it, or end it. */
  policy?: "queue" | "steer" | "interrupt" | undefined;
  /** As `provider/model`. */
  model?: string | undefined;
  runtime?: string | undefined;
  /** Default: the session's. */
  cwd?: string | undefined;
  permission?: "ask" | "deny" | "auto" | "read-only" | undefined;
  /** Who else reads the answers; default: the owner alone. For `strangers` the turn has no tools but the engine's. */
  audience?: "group" | "strangers" | undefined;
  thinking?: "off" | "low" | "medium" | "high" | undefined;
  heartbeat?: boolean | undefined;
  /** A failing model is retried for 300 s instead of 1,800. */
  oneShot?: boolean | undefined;
  additionalContext?: AdditionalContext | null | undefined;
  /** US dollars. */
  maxCost?: number | undefined;
}

/** A permission question. */
export interface Approval {
  id: string;
  work: string;
  session: string;
  agent: string;
  tool: string;
  toolCallId?: string | undefined;
  summary: string;
  preview?: string | undefined;
  /** What the answer `always` would save. */
  rule?: string | undefined;
  /** What the answer `similar` would save. */
  similar?: string | undefined;
  /** JSON Schema of the values that an MCP server asks for. */
  form?: Record<string, unknown> | undefined;
  cwd: string;
  /** ISO 8601. */
  askedAt: string;
}

export interface ComparedRequest {
  turnId: string;
  request: number;
  tokens: number;
}

/** What changed between two model requests. */
export interface ReceiptDiff {
  from: ComparedRequest;
  to: ComparedRequest;
  /** Leading parts that are the same in both. */
  prefixParts: number;
  prefixTokens: number;
  /** Parts after the prefix that are the same in both. */
  unchangedParts: number;
  /** `part`: the later request's; for `removed` the earlier one's. */
  changes: { change: "added" | "removed" | "changed"; part: ReceiptPart; before?: ReceiptPart }[];
}

export type ApprovalAnswer = "once" | "always" | "similar" | "deny";

/** What a token may do. */
export interface TokenLimits {
  scope: Scope;
  /** Pattern of session keys, for example `fam-*`. */
  sessions: string;
  /** Pattern of agent ids. */
  agents: string;
  /** Absolute folders that it may name beside those of its sessions and agents. */
  folders: "any" | string[];
  /** Most permissive mode of its turns; the configured one is a second limit. */
  mode: "read-only" | "deny" | "ask" | "auto";
  /** May name programs that the host starts. */
  mayStartPrograms: boolean;
  /** May answer a permission question with a rule that is saved. */
  mayRemember: boolean;
}

export interface Token extends TokenLimits {
  id: string;
  name: string;
  /** Id of the token that created it. */
  parent?: string | undefined;
  /** Milliseconds since the epoch, as the others. */
  createdAt: number;
  expiresAt?: number | undefined;
  revokedAt?: number | undefined;
  usedAt?: number | undefined;
}

/** What is left out is as the caller's own; the scope is `chat` then. */
export interface NewToken extends Partial<{ [Limit in keyof TokenLimits]: TokenLimits[Limit] | undefined }> {
  name: string;
  expiresAt?: number | undefined;
}

export interface ServerStatus {
  version: string;
  pid: number;
  url: string;
  home: string;
  /** ISO 8601. */
  startedAt: string;
  running: { work: string; session: string; agent: string }[];
  waiting: number;
  approvals: number;
  streams: number;
  /** Id of the newest event. */
  lastEvent: number;
  /** What the caller may do. */
  scope: Scope;
}

/** Events of the inbox around those of a turn. */
export type WorkEvent =
  | { type: "work.accepted"; kind: Work["kind"]; origin: string }
  | { type: "work.started" }
  /** A crash of the server cut it off, and it continues. */
  | { type: "work.resumed" }
  /** Another program holds the session. */
  | { type: "work.waiting"; code: string; message: string }
  | { type: "work.ended"; outcome: WorkOutcome; error?: { code: string; message: string } }
  | ({ type: "compaction.report" } & CompactionReport)
  | { type: "command.output"; text: string }
  | {
      type: "approval.asked";
      id: string;
      toolName: string;
      summary: string;
      preview?: string;
      rule?: string;
      similar?: string;
      form?: Record<string, unknown>;
      sessionKey?: string;
      toolCallId?: string;
      cwd: string;
    }
  | {
      type: "approval.answered";
      id: string;
      allowed: boolean;
      answer: ApprovalAnswer;
      /** Id of the token; `local` for the user's own commands, `browser-<id>` for a browser that was signed in. */
      by: string;
    };

export interface ServerEvent {
  /** Rises with each event of the server; `after` of a later request. */
  id: number;
  work: string;
  agent: string;
  session: string;
  event: TurnEvent | WorkEvent;
}
