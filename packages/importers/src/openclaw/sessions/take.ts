/** Imports every conversation of a home of OpenClaw, one after the other; skips those that exist already. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { toPagurusError } from "@pagurus/contract/errors";
import { silentLogger } from "@pagurus/core/platform/log";
import { Catalog } from "@pagurus/host/stores/files/index/session-catalog";
import { SessionIndex } from "@pagurus/host/stores/files/index/session-index";
import { draw, importConversation, ownKey, sessionIdOf } from "../../sessions/import-foreign.ts";
import { LcmDatabase } from "../../sessions/lcm/lcm-database.ts";
import { openLcm } from "../../sessions/lcm/lcm.ts";
import { paced, type ForeignSession } from "../../sessions/foreign-source.ts";
import { openHome, type OpenClawConversation, type OpenClawHome } from "./home.ts";
import { LcmShare } from "./lcm-share.ts";
import { Shelf } from "./openclaw-shelf.ts";
import { openTranscript } from "./openclaw-transcript.ts";

export interface MigratedConversation {
  agentId: string;
  /** Its id in OpenClaw; for lossless-claw: number and session id. */
  sourceId: string;
  /** Its path, relative to OpenClaw's home. */
  from: string;
  /** `here`: imported before; `empty`: without messages. */
  state: "taken" | "here" | "empty" | "failed";
  /** Its key here; absent when it failed or is empty. */
  sessionKey?: string;
  messages: number;
  /** What was imported and left out, or why not; sentences. */
  what: string[];
}

export interface TakeOptions {
  /** OpenClaw's home. */
  folder: string;
  /** lossless-claw's database; need not exist. */
  lcmFile: string;
  /** Throws `usage_invalid` for an id that is no valid agent id here. */
  agentDir: (agentId: string) => string;
  /** Writes nothing. */
  dryRun: boolean;
  /** Milliseconds since the epoch. */
  now?: () => number;
  /** Called for each finished conversation, with the progress. */
  onConversation?: (conversation: MigratedConversation, done: number, total: number) => void;
  /** True once no further conversation should be started. */
  stopped?: () => boolean;
}

export interface Taken {
  conversations: MigratedConversation[];
  /** Unreadable data outside of single conversations; a sentence each. */
  problems: string[];
  /** What is left out on purpose; a sentence each. */
  leftOut: string[];
  /** Stopped before the end; another run continues. */
  stopped: boolean;
}

/**
 * A conversation that fails is reported and does not stop the others. Throws `store_write_failed` when this host's own store cannot be
 * written.
 */
export async function takeOpenClaw(options: TakeOptions): Promise<Taken> {
  const home = openHome(options.folder);
  const { problems, leftOut } = home;
  const lcm = openLcmFile(options.lcmFile, problems);
  const share = shareOf(lcm, home);
  const taker = new Taker(options, { problems, leftOut });
  try {
    for (const conversation of home.conversations) {
      if (options.stopped?.() === true) return taker.end(true);
      taker.total = home.conversations.length + share.apart.length;
      await taker.take(conversation, async () => {
        const beside = share.of(conversation);
        const opened = await paced(openTranscript(conversation, beside));
        // One that was imported while lcm.db could not be read lacks the data that only lcm.db has.
        if (beside && opened.beside === "joined" && !taker.lacks(conversation, opened.proof))
          share.joined(beside.conversation);
        return opened.session;
      });
    }
    for (const conversation of share.apart) {
      if (options.stopped?.() === true) return taker.end(true);
      await taker.takeLcm(share.placed(conversation), () => paced(openLcm(share.db, conversation)));
    }
    return taker.end(false);
  } finally {
    taker.close();
    lcm?.close();
    home.close();
  }
}

function openLcmFile(file: string, problems: string[]): LcmDatabase | undefined {
  if (!existsSync(file)) return undefined;
  try {
    return new LcmDatabase(file);
  } catch (error) {
    problems.push(toPagurusError(error).message);
    return undefined;
  }
}

/** An unreadable database does not exclude the transcripts. */
function shareOf(lcm: LcmDatabase | undefined, { conversations, problems }: OpenClawHome): LcmShare {
  try {
    return new LcmShare(lcm, conversations);
  } catch (error) {
    problems.push(toPagurusError(error).message);
    return new LcmShare(undefined, conversations);
  }
}

interface Work {
  agentId: string;
  sourceId: string;
  from: string;
  format: "openclaw" | "lcm";
  /** Ids that another import may have used for it. */
  alsoKnownAs: string[];
  /** In order of preference. */
  keys: string[];
  open: () => Promise<ForeignSession>;
}

class Taker {
  total = 0;
  readonly #options: TakeOptions;
  readonly #found: Pick<Taken, "problems" | "leftOut">;
  readonly #done: MigratedConversation[] = [];
  readonly #agents = new Map<string, { shelf: Shelf; catalog: Catalog | undefined }>();

  constructor(options: TakeOptions, found: Pick<Taken, "problems" | "leftOut">) {
    this.#options = options;
    this.#found = found;
  }

  end(stopped: boolean): Taken {
    return { conversations: this.#done, ...this.#found, stopped };
  }

  close(): void {
    for (const { catalog } of this.#agents.values()) catalog?.index.close();
  }

  take(conversation: OpenClawConversation, open: () => Promise<ForeignSession>): Promise<void> {
    const { agentId, sessionId, from } = conversation;
    const keys = keysOf(conversation);
    const alsoKnownAs = [sessionIdOf("pi", sessionId)];
    return this.#add({ agentId, sourceId: sessionId, from, format: "openclaw", alsoKnownAs, keys, open });
  }

  /** True for an existing session without data that this import would add. */
  lacks({ agentId, sessionId }: OpenClawConversation, json: string | undefined): boolean {
    if (json === undefined) return false;
    const { shelf } = this.#agent(agentId);
    const ids = [sessionIdOf("openclaw", sessionId), sessionIdOf("pi", sessionId)];
    const here = ids.find((id) => shelf.keyOf(id) !== undefined);
    return here !== undefined && !shelf.says(here, json);
  }

  takeLcm(
    placed: { agentId: string; sourceId: string; keys: string[] },
    open: () => Promise<ForeignSession>,
  ): Promise<void> {
    return this.#add({ ...placed, from: "lcm.db", format: "lcm", alsoKnownAs: [], open });
  }

  async #add(work: Work): Promise<void> {
    const { agentId, sourceId, from } = work;
    const about = { agentId, sourceId, from, messages: 0 };
    let done: MigratedConversation;
    try {
      done = { ...about, ...(await this.#one(work)) };
    } catch (error) {
      const { code, message, details } = toPagurusError(error);
      // Every other one would fail too.
      if (code === "store_write_failed") throw error;
      const empty = code === "import_invalid" && details["sourceId"] !== undefined;
      done = { ...about, state: empty ? "empty" : "failed", what: [message] };
    }
    this.#done.push(done);
    this.#options.onConversation?.(done, this.#done.length, Math.max(this.total, this.#done.length));
  }

  async #one(
    work: Work,
  ): Promise<Pick<MigratedConversation, "state" | "what"> & Partial<MigratedConversation>> {
    const { shelf, catalog } = this.#agent(work.agentId);
    const id = sessionIdOf(work.format, work.sourceId);
    const source = await work.open();
    const here = [id, ...work.alsoKnownAs].flatMap((each) => shelf.keyOf(each) ?? [])[0];
    if (here !== undefined)
      return {
        state: "here",
        sessionKey: here,
        what: ["It was imported before; its messages since then are not."],
      };
    const key = shelf.free(work.keys) ?? work.keys.at(-1) ?? source.key;
    const tally = catalog
      ? (await importConversation(catalog, work.format, source, key)).tally
      : await draw(work.format, source, (this.#options.now ?? Date.now)());
    shelf.add(id, key);
    const what = [...renamed(key, work.keys), ...tally.sentences()];
    return { state: "taken", sessionKey: key, messages: tally.messageCount, what };
  }

  #agent(agentId: string): { shelf: Shelf; catalog: Catalog | undefined } {
    const place = this.#options.agentDir(agentId);
    // Ids that differ in case only are one agent here.
    const known = this.#agents.get(place);
    if (known) return known;
    const folder = join(place, "sessions");
    const shelf = new Shelf(folder);
    const index = this.#options.dryRun ? undefined : new SessionIndex(place, folder, silentLogger);
    const catalog = index && new Catalog(folder, index, silentLogger, { now: this.#options.now ?? Date.now });
    const agent = { shelf, catalog };
    this.#agents.set(place, agent);
    return agent;
  }
}

/** An earlier generation is imported as a session next to the current one. */
function keysOf({ sessionKey, sessionId, current }: OpenClawConversation): string[] {
  const own = `openclaw:${sessionId}`;
  if (sessionKey === undefined) return [own];
  const key = ownKey(current ? sessionKey : `${sessionKey}:${sessionId}`);
  return [key, ownKey(`openclaw:${key}`), own];
}

function renamed(key: string, [wanted]: string[]): string[] {
  return key === wanted ? [] : [`Another conversation has the key "${wanted ?? ""}" here.`];
}
