/** A session that the old version makes, with everything that its commands print about it. */
import { readFileSync } from "node:fs";
import type { RecordedRequest } from "../../test/servers/server.ts";
import { isRecord } from "../../packages/core/src/data/record-fields.ts";
import type { HomeUser } from "./home-user.ts";

export interface SessionPlan {
  key: string;
  /** Each is a turn; `/compact` is the command `compact`. The last one is a turn. */
  turns: readonly string[];
  /** More arguments of `run`. */
  options?: readonly string[];
  /** The command `compact` of the new version has something to compact. */
  compacts?: boolean;
  /** Compactions that the old version must have made. */
  compactions?: number;
  /** The runtime's own program sends the requests: only texts are compared. */
  thread?: boolean;
}

export interface OldSession extends SessionPlan {
  user: HomeUser;
  /** The last model request of the old version; undefined where the runtime sends none. */
  lastRequest: RecordedRequest | undefined;
  answers: string[];
  /** Output of the old version. */
  record: Record<string, unknown>;
  shown: string;
  found: string;
  receipts: string;
  status: Record<string, unknown>;
  transcript: Buffer;
  receiptLog: Buffer;
}

function linesOf(text: string): Record<string, unknown>[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** Runs the turns with the old version, then asks it for all that it prints about the session. */
export async function makeSession(user: HomeUser, plan: SessionPlan): Promise<OldSession> {
  const { key, turns, options = [] } = plan;
  const begun = user.server.requests.length;
  for (const turn of turns) {
    const args = turn === "/compact" ? ["compact", "-s", key] : ["run", "-s", key, ...options, turn];
    await user.old(...args);
  }
  const lastRequest = user.server.requests.slice(begun).findLast(({ body }) => body["tools"] !== undefined);
  const record = recordOf(await user.old(...SHOW.list), key);
  if (!record) throw new Error(`${user.title}: the old version does not list ${key}.`);
  const shown = await user.old(...SHOW.shown(key));
  const file = String(record["file"]);
  return {
    ...plan,
    user,
    lastRequest,
    answers: answersIn(shown),
    record,
    shown,
    found: await user.old(...SHOW.found(key)),
    receipts: await user.old(...SHOW.receipts(key)),
    status: JSON.parse(await user.old(...SHOW.status(key))) as Record<string, unknown>,
    transcript: readFileSync(file),
    receiptLog: readFileSync(file.replace(/\.jsonl$/, ".receipts.jsonl")),
  };
}

/** Texts of the assistant in the output of `sessions show --json`. */
function answersIn(shown: string): string[] {
  return linesOf(shown).flatMap(({ message }) => {
    if (!isRecord(message) || message["role"] !== "assistant" || !Array.isArray(message["content"]))
      return [];
    const texts = (message["content"] as Record<string, unknown>[]).flatMap(({ type, text }) =>
      type === "text" && typeof text === "string" ? [text] : [],
    );
    return texts.filter((text) => text !== "");
  });
}

export const SHOW = {
  list: ["sessions", "list", "--json"],
  shown: (key: string) => ["sessions", "show", key, "--json"],
  found: (key: string) => ["sessions", "search", "harbour", "--session", key, "--json"],
  receipts: (key: string) => ["context", "show", "--session", key, "--json"],
  status: (key: string) => ["status", "--session", key, "--json"],
};

export function recordOf(list: string, key: string): Record<string, unknown> | undefined {
  return (JSON.parse(list) as Record<string, unknown>[]).find(({ sessionKey }) => sessionKey === key);
}
