/** Selects the conversation of a command from its options and folder, and prints the line about it before anything is sent. */
import { plural } from "@pagurus/core/data/plain-numbers";
import { ago, oneLine } from "@pagurus/host/command/layout";
import type { SessionClaim } from "@pagurus/contract/session/claim";
import type { Pagurus } from "@pagurus/contract/host/host";
import type { SessionRecord } from "@pagurus/contract/session/writer";
import { PagurusError } from "@pagurus/contract/errors";
import { printLine, sessionOf, styleFor, withPagurus, type Cli, type SessionOptions } from "../cli.ts";
import { usageError } from "../cli-failure.ts";
import { sessionTable } from "./session-rows.ts";

/** Maximum number of offered conversations. */
const MOST_CHOICES = 15;

/** Conversation options of `run`, `chat` and the like. */
export interface ChoiceOptions extends SessionOptions {
  /** Start another conversation of the folder. */
  new?: boolean;
  /** Continue the folder's last one, or one by its key. */
  continue?: string | boolean;
}

/** Throws `usage_invalid` where the options contradict each other. */
export function checkChoice(options: ChoiceOptions): void {
  const named = [
    ...(options.session === undefined ? [] : ["--session"]),
    ...(options.new === true ? ["--new"] : []),
    ...(options.continue === undefined || options.continue === false ? [] : ["--continue"]),
  ];
  if (named.length > 1)
    throw usageError(`${named.join(" and ")} each choose the conversation; use one of them.`);
}

/** Whether an option selects the conversation. */
export function isChosen(options: ChoiceOptions): boolean {
  return options.session !== undefined || options.new === true || (options.continue ?? false) !== false;
}

/** The folder's conversations to pick from, last used first, and their lines. */
export function choices(
  pagurus: Pagurus,
  { agent = "main" }: SessionOptions,
  cwd: string,
  width: number,
): { records: SessionRecord[]; lines: string[] } {
  const store = pagurus.sessions(agent);
  const here = store.find(pagurus.sessionKey({ agentId: agent, cwd }))?.folder;
  const all = here === undefined ? [] : store.inFolder(here);
  const records = all.filter(({ entryCount }) => entryCount > 0).slice(0, MOST_CHOICES);
  return { records, lines: sessionTable(records, { width, now: Date.now(), numbered: true }) };
}

/** The selection by an answer to the list; undefined for an invalid one. */
export function pickedBy(answer: string, records: readonly SessionRecord[]): ChoiceOptions | undefined {
  const text = answer.trim();
  if (/^n(?:ew)?$/i.test(text)) return { new: true };
  const record = text === "" ? records[0] : /^\d{1,3}$/.test(text) ? records[Number(text) - 1] : undefined;
  return record && { continue: record.sessionKey };
}

/**
 * Claims the conversation for this command until it is released. `how`: used where no option selects one. Throws
 * `session_locked`, `session_not_found` for an unknown `--continue KEY`, `session_key_invalid`.
 */
export function claimChoice(
  pagurus: Pagurus,
  options: ChoiceOptions,
  { cwd, how = "continue" }: { cwd: string; how?: "continue" | "new" },
): Promise<SessionClaim> {
  const { agentId, sessionKey } = sessionOf(options);
  const named = typeof options.continue === "string" ? options.continue : sessionKey;
  if (typeof options.continue === "string") assertThere(pagurus, agentId, options.continue);
  if (named !== undefined) return pagurus.claim({ agentId, cwd, sessionKey: named });
  const asked = options.new === true ? "new" : options.continue === true ? "last" : how;
  return pagurus.claim({ agentId, cwd, how: asked });
}

function assertThere(pagurus: Pagurus, agentId: string, key: string): void {
  if (pagurus.sessions(agentId).find(key)) return;
  throw new PagurusError(
    "session_not_found",
    `There is no session "${key}" to continue; pagurus sessions list shows them all, and --session creates one under a key of yours.`,
  );
}

/** `session app: 12 turns, last used 3 hours ago; --new begins another`. */
export function claimLine({ sessionKey, record, insteadOf, folder }: SessionClaim, another: string): string {
  if (!record || record.entryCount === 0) {
    const why = insteadOf === undefined ? "" : `, since ${oneLine(insteadOf.sessionKey, 60)} is in use`;
    return `session ${sessionKey}: new${why}`;
  }
  const size =
    (record.turnCount ?? 0) > 0
      ? plural(record.turnCount ?? 0, "turn")
      : plural(record.entryCount, "entry", "entries");
  const other = folder === undefined ? "--session names another" : another;
  return `session ${sessionKey}: ${size}, last used ${ago(record.updatedAt, Date.now())}; ${other}`;
}

/** Prints the line, at a terminal only. */
export function showClaim(cli: Cli, claim: SessionClaim, another = "--new begins another"): void {
  if (cli.stderr.isTTY !== true) return;
  printLine(cli.stderr, styleFor(cli.stderr, cli.env)("dim", claimLine(claim, another)));
}

/** Session key for a read-only command. */
export function keyOf(pagurus: Pagurus, cli: Cli, options: SessionOptions & { cwd?: string }): string {
  return pagurus.sessionKey({ ...sessionOf(options), cwd: options.cwd ?? cli.cwd });
}

/** Session key for a command that needs no host otherwise. */
export function keyAlone(cli: Cli, options: SessionOptions): Promise<string> {
  const { session } = options;
  if (session !== undefined) return Promise.resolve(session);
  return withPagurus(cli, (pagurus) => Promise.resolve(keyOf(pagurus, cli, options)));
}
