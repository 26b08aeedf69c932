/** Types of `/api/v1`, inferred from the shapes that describe and validate it; without zod at run time. */
import type * as z from "zod";
import type { CompactionReport } from "@pagurus/contract/host/reports";
import type { TurnEvent } from "@pagurus/contract/host/events";
import type { PermissionAnswer, PermissionQuestion } from "@pagurus/contract/host/run";
import type * as answers from "./answers.ts";
import type * as bodies from "./bodies.ts";
import type * as board from "./board-answers.ts";
import type * as inspected from "./inspect-answers.ts";

export type { Scope } from "@pagurus/contract/host/authority";

export type Session = z.output<typeof answers.session>;
export type SessionDetails = z.output<typeof answers.sessionDetails>;
/** A turn, a compaction or a plugin's command, from its acceptance to its end. */
export type Work = z.output<typeof answers.work>;
export type WorkOutcome = NonNullable<Work["outcome"]>;
/** A command of a plugin. */
export type Command = z.output<typeof answers.command>;
/** A permission question. */
export type Approval = z.output<typeof answers.approval>;
export type ApprovalAnswer = Extract<PermissionAnswer, string>;
/** Choices of a person for the next turns. */
export type Choices = z.output<typeof answers.choices>;
export type SlashAnswer = z.output<typeof answers.slashAnswer>;
/** Changes between two model requests. */
export type ReceiptDiff = z.output<typeof answers.receiptDiff>;
export type TokenLimits = z.output<typeof answers.tokenLimits>;
/** Times are milliseconds since the epoch. */
export type Token = z.output<typeof answers.token>;
export type ServerStatus = z.output<typeof answers.serverStatus>;
export type Job = z.output<typeof answers.job>;
/** Whether there is something to do: a file has changed, or a shell command ends with 0. */
export type JobCheck = z.output<typeof answers.jobCheck>;
/** The conversation that a client's turns belong to. */
export type Claimed = z.output<typeof answers.claim>;
export type TranscriptState = z.output<typeof answers.transcriptState>;

export type Turn = z.input<typeof bodies.turnBody>;
/** A limit that is absent is the caller's own; the scope is `chat` then. */
export type NewToken = z.input<typeof bodies.newToken>;
export type NewJob = z.input<typeof bodies.newJob>;

export type PartSource = z.output<typeof inspected.partSource>;
export type InspectedRequest = z.output<typeof inspected.request>;
/** Usage of a session's model requests, as the providers reported it. */
export type SessionUsage = z.output<typeof inspected.usage>;
/** Of one request, or of several of a long session that follow each other. */
export type CurvePoint = z.output<typeof inspected.curvePoint>;
export type RequestCurve = z.output<typeof inspected.curve>;
/** Kinds of words that a report can leave out. */
export type RedactedKind = (typeof inspected.REDACTED_KINDS)[number];
export type SourceSum = z.output<typeof inspected.sourceSum>;
export type RequestDetails = z.output<typeof inspected.requestDetails>;
export type InspectedPart = z.output<typeof inspected.part>;
export type ChangedPart = z.output<typeof inspected.changedPart>;
export type BodyDiff = z.output<typeof inspected.bodyDiff>;
export type RequestDiff = z.output<typeof inspected.requestDiff>;
export type LeftOutEntry = z.output<typeof inspected.leftOutEntry>;
export type LeftOutSum = z.output<typeof inspected.leftOutSum>;
export type InspectedSummary = z.output<typeof inspected.summary>;
export type InspectedCompaction = z.output<typeof inspected.compaction>;
export type TimelineItem = z.output<typeof inspected.timelineItem>;
export type Branching = z.output<typeof inspected.branching>;
export type BranchTurn = Branching["turns"][number];
export type RuntimeSwitch = z.output<typeof inspected.runtimeSwitch>;
export type TimelinePlace = z.output<typeof inspected.timelinePlace>;

/** Costs of days by agent, model and program, and the configured limits. */
export type Spend = z.output<typeof board.spend>;
/** A channel of the configuration, its connection and its people. */
export type Channel = z.output<typeof board.channel>;
/** A program that has something open at the server, or a token that was used. */
export type Connection = z.output<typeof board.connection>;
export type Health = z.output<typeof board.health>;

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
  | ({ type: "approval.asked"; id: string } & Omit<PermissionQuestion, "signal">)
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
