/** What is kept of all agents, as one client may see it: the conversations of a folder and the folders below it, or all. Only for reading. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import { defined } from "@pagurus/core/data/defined";
import { wordsOf } from "../formats/kept-record.ts";
import type { Env } from "../programs/program.ts";
import { KeptWords, type KeptHit, type ShownRecord } from "./kept-words.ts";
import type { ConversationRow, RecordRow } from "./words-database.ts";

export interface VisibleRecord {
  num: number;
  role: string;
  at: number | null;
  text: string;
}

export class VisibleWords {
  readonly #archive: string;
  readonly #env: Env;
  readonly #folder: string | undefined;

  /** `archive`: its folder. `folder` absent: every conversation. */
  constructor(archive: string, env: Env, folder?: string) {
    this.#archive = archive;
    this.#env = env;
    this.#folder = folder === undefined ? undefined : resolve(folder);
  }

  /** Nothing where nothing is kept yet. */
  search(query: string, { limit, agent }: { limit: number; agent?: string }): KeptHit[] {
    const filter = defined({ limit, agent, folder: this.#folder });
    return this.#with((words) => words.search(query, filter)) ?? [];
  }

  /**
   * The messages of a conversation from a record on, or those before it, the nearest first; `visit` returns whether it wants more. Throws
   * `session_not_found`, the same for a conversation of another folder.
   */
  read(
    conversation: number,
    from: { from?: number; isBackward?: boolean },
    visit: (record: VisibleRecord) => boolean,
  ): void {
    const isFound = this.#with((words) => {
      const found = words.conversation(conversation);
      if (!found || !this.#isVisible(found)) return false;
      for (const row of rowsOf(words, conversation, from)) {
        const record = words.record(row);
        if (!visit({ num: row.num, role: record.role, at: row.at, text: textOf(record) })) break;
      }
      return true;
    });
    if (isFound === true) return;
    const place = this.#folder === undefined ? "here" : `in ${this.#folder}`;
    throw new PagurusError(
      "session_not_found",
      `No kept conversation ${conversation} is ${place}; a search names them.`,
    );
  }

  /** Undefined where nothing is kept yet. */
  #with<T>(work: (words: KeptWords) => T): T | undefined {
    if (!existsSync(join(this.#archive, "words.db"))) return undefined;
    const words = new KeptWords(this.#archive, this.#env);
    try {
      return work(words);
    } finally {
      words.close();
    }
  }

  #isVisible({ folder }: ConversationRow): boolean {
    if (this.#folder === undefined) return true;
    return folder !== null && (folder === this.#folder || folder.startsWith(`${this.#folder}/`));
  }
}

/** The words of its message; of a record without one all that it has. */
function textOf({ parts, rest }: ShownRecord): string {
  return wordsOf({ parts, rest: parts.length === 0 ? rest : "" });
}

/** The role that no message has. */
const DATA = 5;

/** Messages, and the record that was asked for whatever it is. */
function rowsOf(
  words: KeptWords,
  conversation: number,
  { from, isBackward = false }: { from?: number; isBackward?: boolean },
): RecordRow[] {
  const rows = words.rows(conversation).filter(({ num, role }) => role < DATA || num === from);
  const end = isBackward ? rows.length : 0;
  const at = from === undefined ? end : rows.findIndex(({ num }) => num === from);
  if (at < 0)
    throw new PagurusError(
      "entry_not_found",
      `The kept conversation ${conversation} has no record ${from}; a search names them.`,
    );
  return isBackward ? rows.slice(0, at).toReversed() : rows.slice(at);
}
