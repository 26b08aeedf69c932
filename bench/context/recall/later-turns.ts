/** Questions of later work: what the agent typed next from a past that is no longer in its context (M3). */
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { textOfMessage } from "../../../packages/replay/src/prompt-blocks.ts";
import {
  outputOf,
  type ModelCall,
  type RecordedSession,
} from "../../../packages/replay/src/recorded-session.ts";
import { specificStrings } from "../../../packages/replay/src/wanted-strings.ts";
import { wordsOf } from "./bm25.ts";
import type { Question } from "./facts.ts";

const LEAST_WORDS = 4;
/** The newest messages are in the agent's context and need not be found. */
const IN_FRONT = 40;
/** Words of a question: the newest of the text. */
const MOST_CHARACTERS = 600;

function spokenBy(message: AgentMessage): string {
  if (typeof message.content === "string") return message.content;
  const texts = message.content.map((part) => {
    if (part.type === "text") return part.text;
    return part.type === "thinking" ? part.thinking : "";
  });
  return texts.join("\n").trim();
}

/** The agent's stated intent, else the user's last request, without the strings that are searched. */
function questionOf(session: RecordedSession, call: ModelCall, gold: readonly string[]): string {
  const input = session.messages.slice(call.liveStart, call.end).findLast(({ role }) => role === "user");
  for (const message of [outputOf(session, call), input]) {
    let text = message ? spokenBy(message) : "";
    for (const value of gold) text = text.replaceAll(value, " ");
    if (wordsOf(text).length >= LEAST_WORDS) return text.slice(-MOST_CHARACTERS).trim();
  }
  return "";
}

/**
 * For every call from index `from` on: the specific strings of its output that occur in the history before call `from`, and
 * in none of the newest 40 messages. Calls with too little text to ask with are left out.
 */
export function laterQuestions(session: RecordedSession, from: number): Question[] {
  const start = session.calls[from]?.end ?? session.messages.length;
  const past = session.messages.slice(0, start).map(textOfMessage).join("\n");
  const questions: Question[] = [];
  for (const call of session.calls.slice(from)) {
    const newest = Math.max(0, call.end - IN_FRONT);
    const front = session.messages.slice(newest, call.end).map(textOfMessage).join("\n");
    const typed = specificStrings(textOfMessage(outputOf(session, call)));
    // A word before a full stop or a colon is specific by the formula of M3, and no evidence of anything.
    const exact = new Set(typed.flatMap((value) => specificStrings(value.replace(/[./:-]+$/, ""))));
    const gold = [...exact].filter((value) => !front.includes(value) && past.includes(value));
    if (gold.length === 0) continue;
    const text = questionOf(session, call, gold);
    if (text !== "") questions.push({ category: "later turns", text, gold });
  }
  return questions;
}
