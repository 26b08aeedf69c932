/**
 * Conversations of people over months, with questions whose evidence is known. They are not in the repository, as their licences
 * do not allow it: LoCoMo (`PAGURUS_BENCH_LOCOMO` is the path of its JSON file), written by models, and REALTALK
 * (`PAGURUS_BENCH_REALTALK` is the folder with its `Chat_*.json`), written by people in three weeks.
 *
 * One conversation has about 10,000 to 23,000 tokens, so a budget of 16,000 holds most of it or all, whatever is found. A
 * joined set has all the conversations of its split as one history of about 80,000 to 110,000 tokens, of which no budget holds
 * more than a fifth or so.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type { Split } from "./cases.ts";
import type { Question } from "./facts.ts";
import { joinCases } from "./joined.ts";
import type { RecallCase } from "./measure.ts";

/** Names of the kinds of questions by number. Kind 5 asks about what was never mentioned and has no evidence. */
const KINDS: Readonly<Record<number, string>> = {
  1: "several places",
  2: "time",
  3: "inference",
  4: "one place",
};
/** Conversations before this one are for tuning, the others for reporting. */
const FIRST_REPORTED = 5;
const MINUTE_MS = 60_000;

interface Line {
  speaker: string;
  dia_id: string;
  text: string;
}

interface Recorded {
  conversation: Record<string, string | readonly Line[]>;
  qa: readonly { question: string; category: number; evidence?: readonly string[] }[];
}

/** A message of REALTALK; its time is `29.12.2023, 22:42:04`. */
interface SentLine {
  speaker: string;
  dia_id: string;
  clean_text?: string;
  date_time: string;
}

interface Chat extends Pick<Recorded, "qa"> {
  [session: `session_${number}`]: readonly SentLine[] | undefined;
}

/** Reads `1:56 pm on 8 May, 2023`. */
function timeOf(text: unknown): number {
  if (typeof text !== "string") return 0;
  const [, clock = "", date = ""] = /^(.*) on (.*)$/.exec(text) ?? [];
  return Date.parse(`${date} ${clock} UTC`);
}

function messageOf(
  isUser: boolean,
  text: string,
  place: Pick<AgentMessage, "entryId" | "timestamp">,
): AgentMessage {
  return isUser
    ? { role: "user", content: text, ...place }
    : { role: "assistant", content: [{ type: "text", text }], stopReason: "stop", ...place };
}

/** One message for each line, a minute apart; the first speaker is the user. */
function messagesOf({ conversation }: Recorded): AgentMessage[] {
  const messages: AgentMessage[] = [];
  for (let number = 1; ; number++) {
    const lines = conversation[`session_${number}`];
    if (!Array.isArray(lines)) return messages;
    let timestamp = timeOf(conversation[`session_${number}_date_time`]);
    for (const { speaker, dia_id: entryId, text } of lines as readonly Line[]) {
      timestamp += MINUTE_MS;
      messages.push(messageOf(speaker === conversation["speaker_a"], text, { entryId, timestamp }));
    }
  }
}

function questionsOf({ conversation, qa }: Recorded): Question[] {
  // Some files also have summaries and lists of events beside the sessions.
  const lines = Object.values(conversation).flatMap((value) =>
    Array.isArray(value) ? (value as readonly Line[]) : [],
  );
  const texts = new Map(lines.map(({ dia_id, text }) => [dia_id, text.trim()]));
  return qa.flatMap(({ question, category, evidence = [] }) => {
    const kind = KINDS[category];
    const ids = evidence.flatMap((each) => each.split(/[;,\s]+/));
    const gold = ids.flatMap((id) => texts.get(id) ?? []);
    return kind === undefined || gold.length === 0 ? [] : [{ category: kind, text: question, gold }];
  });
}

/** Reads `29.12.2023, 22:42:04`. */
function timeSent(text: string): number {
  const [, day, month, year, clock] = /^(\d+)\.(\d+)\.(\d+), (.*)$/.exec(text) ?? [];
  return Date.parse(`${year}-${month?.padStart(2, "0")}-${day?.padStart(2, "0")}T${clock}Z`);
}

function linesOf(chat: Chat): SentLine[] {
  const lines: SentLine[] = [];
  for (let number = 1; ; number++) {
    const session = chat[`session_${number}`];
    if (session === undefined) return lines;
    lines.push(...session);
  }
}

/** As in a group, each message begins with its author's name, since the questions are about people. */
function caseOfChat(chat: Chat, name: string): RecallCase {
  const lines = linesOf(chat);
  const textOf = ({ speaker, clean_text }: SentLine): string => `${speaker}: ${clean_text || "(a photo)"}`;
  const messages = lines.map((line) =>
    messageOf(line.speaker === lines[0]?.speaker, textOf(line), {
      entryId: line.dia_id,
      timestamp: timeSent(line.date_time),
    }),
  );
  const conversation = {
    lines: lines.map((line) => ({ speaker: line.speaker, dia_id: line.dia_id, text: textOf(line) })),
  };
  return { name, factor: 1, messages, questions: questionsOf({ conversation, qa: chat.qa }) };
}

/** Cases of one split of REALTALK, by their numbers. */
export function readChats(folder: string, split: Split): RecallCase[] {
  const numberOf = (file: string): number => Number(/^Chat_(\d+)_/.exec(file)?.[1] ?? 0);
  return readdirSync(folder)
    .filter((file) => numberOf(file) > 0 && file.endsWith(".json"))
    .toSorted((one, other) => numberOf(one) - numberOf(other))
    .filter((_, index) => index < FIRST_REPORTED === (split === "tuning"))
    .map((file) =>
      caseOfChat(JSON.parse(readFileSync(join(folder, file), "utf8")) as Chat, `chat ${numberOf(file)}`),
    );
}

/** Cases of one split in a file. */
export function readConversations(file: string, split: Split): RecallCase[] {
  const all = JSON.parse(readFileSync(file, "utf8")) as Recorded[];
  return all.flatMap((recorded, index) => {
    if (index < FIRST_REPORTED !== (split === "tuning")) return [];
    const messages = messagesOf(recorded);
    return [{ name: `conversation ${index + 1}`, factor: 1, messages, questions: questionsOf(recorded) }];
  });
}

/** Cases that are measured together. */
export interface ConversationSet {
  name: string;
  cases: RecallCase[];
  /** Its one case is all the conversations of another set. */
  isJoined: boolean;
}

/** Sets of conversations of one split, then the same ones joined; none without their files. */
export function conversationSets(split: Split): ConversationSet[] {
  const { PAGURUS_BENCH_LOCOMO: locomo = "", PAGURUS_BENCH_REALTALK: realtalk = "" } = process.env;
  const sets = [
    ...(locomo === "" ? [] : [{ name: "LoCoMo", cases: readConversations(locomo, split) }]),
    ...(realtalk === "" ? [] : [{ name: "REALTALK", cases: readChats(realtalk, split) }]),
  ];
  return [
    ...sets.map((set) => ({ ...set, isJoined: false })),
    // A single conversation is already its own set.
    ...sets
      .filter(({ cases }) => cases.length > 1)
      .map(({ name, cases }) => ({ name: `${name}, joined`, cases: [joinCases(cases)], isJoined: true })),
  ];
}
