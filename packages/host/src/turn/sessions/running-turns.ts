/** Steers and stops a turn of another caller, in this process or through its mailbox. */
import { setTimeout as pause } from "node:timers/promises";
import { PagurusError } from "@pagurus/contract/errors";
import type { SessionRecord } from "@pagurus/contract/session/writer";
import { Letter, type MailRequest } from "../../stores/files/session-mailbox.ts";
import type { TurnInput } from "../agent/turn-mailbox.ts";
import type { AgentHost } from "../agent/agent-host.ts";
import { checkInputLength } from "../admit/input-length.ts";
import { sessionKeyOf } from "../agent/session-key.ts";

/** Longest wait for another process's answer, ms. */
const ANSWER_MS = 5_000;
/** Longest wait for the answer after the request was taken, ms. */
const TAKEN_MS = 2_000;
const LOOK_MS = 25;
/** Longest wait for a turn that has just begun to open its mailbox, ms. */
const OPENS_MS = 1_500;

interface Place {
  sessionKey?: string;
  cwd?: string;
  signal: AbortSignal;
}

/** Throws `usage_invalid` for an empty text, `live_turn_too_large` for one that no turn could take, `turn_not_running`. */
export async function steerRunning(host: AgentHost, request: Place & { text: string }): Promise<void> {
  const { text, signal } = request;
  const sessionKey = sessionKeyOf(host, request);
  if (text.trim() === "")
    throw new PagurusError("usage_invalid", "The input to the running turn is empty; give a text.");
  await checkInputLength(host, { prompt: text });
  const live = host.live.get(sessionKey);
  const accepted = live ? live.steer(text) : await ask(host, sessionKey, { kind: "steer", text }, signal);
  if (accepted) return;
  throw notRunning(
    sessionKey,
    `The turn in the session ${sessionKey} is ending and takes no more input; send the text as the next input.`,
  );
}

/** Throws `turn_not_running`. */
export async function stopRunning(host: AgentHost, { signal, ...place }: Place): Promise<void> {
  const sessionKey = sessionKeyOf(host, place);
  const live = host.live.get(sessionKey);
  if (live) live.abort();
  else await ask(host, sessionKey, { kind: "stop" }, signal);
}

/** Registers a running turn; the returned function removes it. */
export function noteRunning({ live }: AgentHost, sessionKey: string, turn: TurnInput): () => void {
  live.set(sessionKey, turn);
  return () => {
    if (live.get(sessionKey) === turn) live.delete(sessionKey);
  };
}

/** Returns whether the turn of another process has accepted it. */
async function ask(
  host: AgentHost,
  sessionKey: string,
  request: MailRequest,
  signal: AbortSignal,
): Promise<boolean> {
  const found = host.store.find(sessionKey);
  const pid = found && runningPid(host, sessionKey);
  const letter = found && pid !== undefined ? new Letter(found) : undefined;
  if (!found || !letter || !(await posted(letter, request, signal))) throw noTurn(sessionKey);
  let giveUpAt = performance.now() + ANSWER_MS;
  for (let withdrawn = false; ;) {
    const answer = letter.answer();
    if (answer === "gone") throw withdrawn ? unanswered(found, pid) : noTurn(sessionKey);
    if (answer) return answer.accepted;
    if (performance.now() >= giveUpAt || signal.aborted) {
      // The process that has taken it is about to answer.
      if (withdrawn || letter.withdraw()) throw unanswered(found, pid);
      withdrawn = true;
      giveUpAt = performance.now() + TAKEN_MS;
    }
    await pause(LOOK_MS);
  }
}

/** A turn opens its mailbox after it has run for a moment. */
async function posted(letter: Letter, request: MailRequest, signal: AbortSignal): Promise<boolean> {
  const until = performance.now() + OPENS_MS;
  for (;;) {
    if (letter.post(request)) return true;
    if (signal.aborted || performance.now() > until) return false;
    await pause(LOOK_MS);
  }
}

function runningPid(host: AgentHost, sessionKey: string): number | undefined {
  const reader = host.store.openReader(sessionKey);
  try {
    return reader.runningIn?.pid;
  } finally {
    reader.close();
  }
}

function noTurn(sessionKey: string): PagurusError {
  return notRunning(
    sessionKey,
    `No turn is running in the session ${sessionKey}; send an input to start one.`,
  );
}

function unanswered({ sessionKey }: SessionRecord, pid: number | undefined): PagurusError {
  const message = `Process ${pid} runs in the session ${sessionKey} and did not answer; try again, or end that process.`;
  return new PagurusError("turn_not_running", message, { details: { sessionKey, pid } });
}

function notRunning(sessionKey: string, message: string): PagurusError {
  return new PagurusError("turn_not_running", message, { details: { sessionKey } });
}
