/**
 * Conversations of people over months, with questions whose evidence is known: files of LoCoMo (CC BY-NC, so not in the
 * repository). `PAGURUS_BENCH_LOCOMO` is the path of its JSON file.
 */
import { readFileSync } from "node:fs";
import type { AgentMessage } from "../../../src/contract/message.ts";
import type { Split } from "./cases.ts";
import type { Question } from "./facts.ts";
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

/** Reads `1:56 pm on 8 May, 2023`. */
function timeOf(text: unknown): number {
  if (typeof text !== "string") return 0;
  const [, clock = "", date = ""] = /^(.*) on (.*)$/.exec(text) ?? [];
  return Date.parse(`${date} ${clock} UTC`);
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
      messages.push(
        speaker === conversation["speaker_a"]
          ? { role: "user", content: text, entryId, timestamp }
          : { role: "assistant", content: [{ type: "text", text }], stopReason: "stop", entryId, timestamp },
      );
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

/** Cases of one split in a file. */
export function readConversations(file: string, split: Split): RecallCase[] {
  const all = JSON.parse(readFileSync(file, "utf8")) as Recorded[];
  return all.flatMap((recorded, index) => {
    if (index < FIRST_REPORTED !== (split === "tuning")) return [];
    const messages = messagesOf(recorded);
    return [{ name: `conversation ${index + 1}`, factor: 1, messages, questions: questionsOf(recorded) }];
  });
}

/** Cases of one split; none without the file. */
export function conversationCases(split: Split): RecallCase[] {
  const file = process.env["PAGURUS_BENCH_LOCOMO"] ?? "";
  return file === "" ? [] : readConversations(file, split);
}
