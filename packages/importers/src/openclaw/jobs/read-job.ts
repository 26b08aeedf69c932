/** Converts one scheduled job of OpenClaw, with a sentence for each part that is not taken. */
import { hash } from "node:crypto";
import { type Fields, filledString, listOf, recordOf } from "@pagurus/core/data/record-fields";
import { ownKey } from "../../sessions/import-foreign.ts";
import { THINKING } from "../config/thinking-levels.ts";
import { readTimes, TIME_FIELDS, type ForeignTimes } from "./job-times.ts";
import type { StoredJob } from "./stored-jobs.ts";

/** A job of `pagurus jobs` before it is created. */
export interface ForeignJob {
  id: string;
  agentId: string;
  sessionKey: string;
  times: ForeignTimes;
  missed: "skip" | "once";
  request: { prompt: string; model?: string; thinking?: "off" | "low" | "medium" | "high" };
  isPaused: boolean;
}

/** Settings of OpenClaw that hold for all jobs. */
export interface JobSettings {
  /** Agent of a job that names none. */
  agentId: string;
  /** The scheduler is switched off. */
  isOff: boolean;
  skipsMissed: boolean;
  now: number;
}

/** `job` is absent if no job here does the same; `what` then has the reason, and how to get a similar one. */
export interface ReadJob {
  agentId: string;
  name: string;
  job?: ForeignJob;
  what: string[];
}

/** Fields that are read, and OpenClaw's bookkeeping: they need no note. */
const KNOWN_FIELDS = new Set(
  "id jobId name description displayName enabled agentId sessionKey createdAtMs updatedAtMs state schedule sessionTarget wakeMode payload delivery deleteAfterRun trigger declarationKey owner scheduledToolPolicy createdActor skillLibrarySelections toolsAllowProvenance toolsAllowExecTarget toolsAllowExecTargetRequirement runtimeAuthority runtimeAuthorityRecoveryRequired notify".split(
    " ",
  ),
);
const KNOWN_OF_PAYLOAD = new Set(
  "kind message text model thinking toolsAllow toolsAllowIsDefault externalContentSource".split(" "),
);

export function readJob({ id, job, scratch }: StoredJob, settings: JobSettings): ReadJob {
  const agentId = agentOf(job, settings).toLowerCase();
  const name = filledString(job["name"]) ?? id;
  const payload = recordOf(job["payload"]);
  const lacks = lackOf(job, payload, agentId);
  if (lacks !== undefined) return { agentId, name, what: [asSentence(lacks), ...scratchNote(scratch)] };
  const read = readTimes(recordOf(job["schedule"]), settings.now);
  if ("lacks" in read) return { agentId, name, what: [asSentence(read.lacks), ...scratchNote(scratch)] };
  const sessionKey = sessionOf(job, id, agentId);
  const narrowed = narrowingOf(payload);
  const { model, thinking } = jobRequest(payload);
  const isOff = job["enabled"] === false;
  return {
    agentId,
    name,
    job: {
      id: `openclaw-${plainId(id)}`,
      agentId,
      sessionKey,
      times: read.times,
      missed: settings.skipsMissed && read.times.kind !== "at" ? "skip" : "once",
      request: { prompt: jobPrompt(payload) ?? "", ...model, ...thinking },
      isPaused: isOff || settings.isOff || narrowed.length > 0,
    },
    what: [
      ...(isOff ? ["It is switched off there, so it is paused here."] : []),
      ...(settings.isOff && !isOff ? ["cron.enabled is false there, so it is paused here."] : []),
      ...narrowed,
      ...read.what,
      ...deliveryNotes(recordOf(job["delivery"]), sessionKey),
      ...unknownNotes(job, payload),
      ...scratchNote(scratch),
    ],
  };
}

/** Longest part of an id there that is kept. */
const MOST_PLAIN = 120;
const MARK = /-[0-9a-f]{8}$/;

/**
 * The id there in the characters of ids here, always the same for the same job. If it is changed, or ends like a hash, a hash of it is
 * appended, so that no two jobs share an id or a session.
 */
function plainId(sourceId: string): string {
  const plain = sourceId.replaceAll(/[^\w.-]+/g, "-").slice(0, MOST_PLAIN);
  if (plain === sourceId && !MARK.test(plain)) return plain;
  return `${plain}-${hash("sha1", sourceId, "hex").slice(0, 8)}`;
}

function asSentence(text: string): string {
  return `Not taken: ${text}.`;
}

/** The job's own agent, that of its session key (`agent:<id>:…`), or the default one. */
function agentOf({ agentId, sessionKey }: Fields, settings: JobSettings): string {
  const [, ofKey] = /^agent:([^:]+):/.exec(filledString(sessionKey) ?? "") ?? [];
  return filledString(agentId) ?? ofKey ?? settings.agentId;
}

/** The prompt of an agent's turn, or the text of an event. */
function jobPrompt({ message, text }: Fields): string | undefined {
  return [message, text].map(filledString).find((each) => each?.trim() !== "" && each !== undefined);
}

/** Reason why a job here cannot do the work of this one. */
function lackOf(job: Fields, payload: Fields, agentId: string): string | undefined {
  switch (payload["kind"]) {
    case "command": {
      const command = listOf(payload["argv"]).map(String).join(" ");
      return `it runs the command ${JSON.stringify(command.slice(0, 200))} without a model, and a job here is a prompt; the system's own scheduler (cron, systemd) runs commands`;
    }
    case "script":
      return "it runs a script with OpenClaw's tools and without a model, and a job here is a prompt; put its work into a prompt for pagurus jobs add";
    case "heartbeat":
      return `it is the heartbeat of the agent ${agentId}, which is a setting here; if the agent has none: pagurus config set agents.defaults.heartbeat.every 30m (in agents.list for an agent other than main)`;
    default:
  }
  if (job["trigger"] !== undefined && job["trigger"] !== null)
    return "it runs only if its script finds something to do; pagurus jobs add with --check-command runs a job only if a command exits with 0";
  return jobPrompt(payload) === undefined
    ? "it has no prompt; pagurus jobs add creates a job with one"
    : undefined;
}

/** Key of the session that the job runs in. OpenClaw starts a new conversation for each isolated run; here they share one. */
function sessionOf({ sessionTarget, sessionKey }: Fields, id: string, agentId: string): string {
  if (sessionTarget === "isolated") return ownKey(`cron-${plainId(id)}`);
  const named = typeof sessionTarget === "string" ? /^session:(.+)$/.exec(sessionTarget)?.[1] : undefined;
  const key = named ?? (sessionTarget === "current" ? filledString(sessionKey) : undefined) ?? "main";
  return ownKey(key.startsWith("agent:") ? key : `agent:${agentId}:${key}`);
}

function jobRequest({ model, thinking }: Fields) {
  const ref = filledString(model);
  const level = filledString(thinking);
  const ours = level !== undefined && Object.hasOwn(THINKING, level) ? THINKING[level] : undefined;
  return {
    model: ref === undefined ? {} : { model: ref },
    thinking: ours === undefined ? {} : { thinking: ours },
  };
}

/** A job that was limited to some tools never runs with more of them before its owner has seen it. */
function narrowingOf({ toolsAllow, toolsAllowIsDefault }: Fields): string[] {
  if (!Array.isArray(toolsAllow) || toolsAllow.includes("*") || toolsAllowIsDefault === true) return [];
  const names = toolsAllow.length === 0 ? "no tools" : `the tools ${toolsAllow.map(String).join(", ")}`;
  return [
    `It may use ${names} there, and what agents.defaults.permission (or its agent's) allows here, so it is paused: pagurus jobs resume lets it run.`,
  ];
}

function deliveryNotes(delivery: Fields, sessionKey: string): string[] {
  const { mode, channel, to, threadId, accountId, completionDestination } = delivery;
  const what: string[] = [];
  const stays = `here it stays in its session (pagurus sessions show ${sessionKey})`;
  const place = [to, threadId, accountId].filter((each) => each !== undefined).map(String);
  const where = `${filledString(channel) ?? "the last channel"}${place.length > 0 ? ` (${place.join(", ")})` : ""}`;
  if (mode === "announce") what.push(`Its answer goes to ${where} there; ${stays}.`);
  if (mode === "webhook" || completionDestination !== undefined)
    what.push(`Its answer is posted to a webhook there; ${stays}, and clients of pagurus serve follow it.`);
  return what;
}

/** Settings that change how it runs there, and have no effect here. */
function unknownNotes(job: Fields, payload: Fields): string[] {
  const schedule = recordOf(job["schedule"]);
  const { failureDestination, bestEffort } = recordOf(job["delivery"]);
  const names = [
    ...Object.keys(job).filter((key) => !KNOWN_FIELDS.has(key) && job[key] !== undefined),
    ...Object.keys(payload)
      .filter((key) => !KNOWN_OF_PAYLOAD.has(key))
      .map((key) => `payload.${key}`),
    ...(thinkingIsUnknown(payload) ? ["payload.thinking"] : []),
    ...Object.keys(schedule)
      .filter((key) => !TIME_FIELDS.includes(key))
      .map((key) => `schedule.${key}`),
    ...(failureDestination === undefined ? [] : ["delivery.failureDestination"]),
    ...(bestEffort === undefined ? [] : ["delivery.bestEffort"]),
  ];
  return names.length === 0 ? [] : [`Without effect here: ${names.join(", ")}.`];
}

function thinkingIsUnknown({ thinking }: Fields): boolean {
  return typeof thinking === "string" && !Object.hasOwn(THINKING, thinking);
}

function scratchNote(scratch: string | undefined): string[] {
  return scratch === undefined
    ? []
    : ["Its notes for the next run (scratch) are not taken; put them into its prompt, or into MEMORY.md."];
}
