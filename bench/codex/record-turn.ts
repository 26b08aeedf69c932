/** A recording of one turn, and sessions that exist before the first one. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { ContextEngine } from "../../packages/contract/src/engine/engine.ts";
import { seedSession } from "../turn/place.ts";
import { codexHost, hostTurn, makeCodexPlace, type CodexPlace } from "./place.ts";
import { makeRecorder, type RecordedHost } from "./record.ts";

export const SESSION = "bench";
export const PROMPT = "How is the tide?";

/** A session of so many messages, always the same ones. */
export function seed(place: CodexPlace, messages: number): void {
  mkdirSync(join(place.home, "agents"), { recursive: true, mode: 0o700 });
  if (messages > 0) seedSession(place, SESSION, messages);
}

/** Records one turn after so many messages, in its own home, as Codex gets it. The caller removes the place. */
export async function recordTurn(
  baseUrl: string,
  messages: number,
  engine?: ContextEngine,
): Promise<{ place: CodexPlace; recorded: RecordedHost }> {
  const place = makeCodexPlace();
  seed(place, messages);
  const recorder = makeRecorder(place.root, place.binary);
  const pagurus = await codexHost(place, {
    baseUrl,
    command: recorder.command,
    ...(engine ? { engine } : {}),
  });
  await hostTurn(pagurus, place, SESSION, PROMPT);
  await pagurus.close();
  return { place, recorded: recorder.read() };
}
