/** A conversation as the page has it: entries from its end, older ones as they are wanted, and the turn that runs. */
import type { TranscriptEntry } from "@pagurus/contract/session/transcript";
import { signal } from "@preact/signals";
import type { Approval, ServerEvent, Work } from "@pagurus/api/types";
import { ClientError } from "@pagurus/client/index";
import { aMoment, isAway, lastingEvents } from "../lasting-events.ts";
import { errorText } from "../loaded.ts";
import { server } from "../server-calls.ts";
import { serverEvents } from "../server-events.ts";
import { freshWork, noteEvent } from "./fresh-talks.ts";
import { LiveTurn } from "./live-turn.ts";
import { onEvent } from "./live-events.ts";
import { branchesFrom, NO_BRANCHES, withSwitches, type Branches } from "./branches.ts";
import { itemsOf, type TalkItem } from "./talk-items.ts";

export interface TalkPlace {
  agent: string;
  key: string;
}

export interface TalkView {
  /** Absent until the first answer. */
  items?: readonly TalkItem[];
  /** Whether the beginning is among them. */
  isWhole: boolean;
  error: string;
  runs: "no" | "here" | "elsewhere";
  doing: string;
  branches: Branches;
  /** Id of the turn that runs here, and how many steps it has done. */
  work?: string | undefined;
  steps: number;
  waiting: readonly Work[];
  questions: readonly Approval[];
}

const PAGE = 80;
const LARGE_PAGE = 1_000;
/** How often a session is looked at that another program may write to, ms. */
const LOOK_MS = 3_000;
const TOGETHER_MS = 15;
const EMPTY: TalkView = {
  isWhole: false,
  error: "",
  runs: "no",
  doing: "",
  branches: NO_BRANCHES,
  steps: 0,
  waiting: [],
  questions: [],
};

function isMissing(error: unknown): boolean {
  return error instanceof ClientError && error.code === "session_not_found";
}

export class Talk {
  readonly place: TalkPlace;
  readonly view = signal<TalkView>(EMPTY);
  readonly #abort = new AbortController();
  #entries: readonly TranscriptEntry[] = [];
  #past: { of: readonly unknown[]; items: readonly TalkItem[] } = { of: [], items: [] };
  #live: LiveTurn | undefined;
  /** Events that came before it was known whether a turn runs. */
  #early: ServerEvent[] | undefined = [];
  #isReadingOlder = false;
  #frame: number | undefined;
  #planned: number | undefined;
  #known = "";
  readonly #timers: (() => void)[] = [];

  constructor(place: TalkPlace) {
    this.place = place;
    this.#timers.push(onEvent((event) => this.#take(event)));
    const timer = setInterval(() => document.visibilityState === "visible" && this.#look(), LOOK_MS);
    this.#timers.push(() => clearInterval(timer));
    void this.#begin();
  }

  close(): void {
    for (const end of this.#timers) end();
    clearTimeout(this.#planned);
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
    this.#abort.abort();
  }

  get #signal(): AbortSignal {
    return this.#abort.signal;
  }

  async #begin(): Promise<void> {
    const fresh = freshWork(this.place);
    if (fresh === undefined)
      await this.#untilThere(async () => {
        try {
          await this.#readWork();
          await this.#readEnd();
        } catch (error) {
          if (!isMissing(error)) throw error;
          this.view.value = { ...this.view.value, items: [], isWhole: true };
        }
      });
    else {
      this.view.value = { ...this.view.value, items: [], isWhole: true, runs: "here" };
      void this.#follow(fresh);
    }
    const early = this.#early ?? [];
    this.#early = undefined;
    for (const event of early) this.#take(event);
    this.#show();
  }

  /** Reads, and again while the server is away; what else fails is shown. */
  async #untilThere(read: () => Promise<void>): Promise<void> {
    while (!this.#signal.aborted)
      try {
        return await read();
      } catch (error) {
        if (this.#signal.aborted) return;
        if (!isAway(error)) {
          this.view.value = { ...this.view.value, error: errorText(error) };
          return;
        }
        // A server that is away is shown above the conversation.
        await aMoment();
      }
  }

  /** The work that runs, waits and asks; a turn that runs already is followed from its beginning. */
  async #readWork(): Promise<void> {
    const { agent, key } = this.place;
    if (freshWork(this.place) !== undefined) return;
    const [details, approvals] = await Promise.all([
      server.session(key, { agent, signal: this.#signal }).catch((error: unknown) => {
        if (isMissing(error)) return undefined;
        throw error;
      }),
      server.approvals({ signal: this.#signal }),
    ]);
    const work = details?.work ?? [];
    const running = work.find(({ state, kind }) => state === "running" && kind === "turn");
    const isRunning = work.some(({ state }) => state === "running");
    this.view.value = {
      ...this.view.value,
      runs: isRunning ? "here" : details?.runningIn ? "elsewhere" : "no",
      waiting: work.filter(({ state }) => state === "waiting"),
      questions: approvals.filter(
        ({ session, agent: its }) => its === agent && (session === key || session.startsWith(`${key}/sub-`)),
      ),
    };
    if (running && this.#live?.work !== running.id) void this.#follow(running.id);
    const known = details ? `${details.id} ${details.entries} ${details.updatedAt}` : "";
    if (known !== this.#known && this.#known !== "" && !running && !this.#live) await this.#readEnd();
    this.#known = known;
  }

  async #follow(work: string): Promise<void> {
    const live = new LiveTurn(work);
    this.#live = live;
    try {
      const events = lastingEvents(
        (after, signal) => serverEvents({ work }, { after, signal }),
        this.#signal,
      );
      for await (const event of events) {
        noteEvent(event);
        if (event.event.type === "work.ended") await this.#ended(work, event.event.error?.message);
        else if (live.take(event)) this.#show();
      }
    } catch (error) {
      if (!this.#signal.aborted) this.view.value = { ...this.view.value, error: errorText(error) };
    }
  }

  #take(event: ServerEvent): void {
    const { agent, session } = event;
    const isOwn = agent === this.place.agent && session === this.place.key;
    const { type } = event.event;
    if (!isOwn && !(type.startsWith("approval.") && session.startsWith(`${this.place.key}/`))) return;
    if (this.#early) {
      this.#early.push(event);
      return;
    }
    if (/^(?:work|approval)\./.test(type)) this.#look();
    // Followed by a stream of its own, from its beginning.
    if (type === "work.started" && this.#live?.work !== event.work) void this.#follow(event.work);
  }

  /** The rows of a turn that has ended are those of the transcript; why work ended without a turn is nowhere in it. */
  async #ended(work: string, problem: string | undefined): Promise<void> {
    await this.#untilThere(async () => {
      await this.#readEnd();
      if (this.#live?.work === work) this.#live = undefined;
    });
    const hasEnd = this.#entries.some(({ type, turnId }) => type === "turn_commit" && turnId === work);
    if (!hasEnd && problem !== undefined) this.view.value = { ...this.view.value, error: problem };
    this.#look();
    this.#show();
  }

  #look(): void {
    this.#planned ??= window.setTimeout(() => {
      this.#planned = undefined;
      // A server that is away is shown above the conversation.
      this.#readWork().catch(() => undefined);
    }, TOGETHER_MS);
  }

  /** The newest entries, joined with those that are known where the two meet. */
  async #readEnd(): Promise<void> {
    const { agent, key } = this.place;
    const entries = await server.entries(key, { agent, limit: PAGE, signal: this.#signal });
    const first = entries[0]?.id;
    const at = first === undefined ? -1 : this.#entries.findIndex(({ id }) => id === first);
    this.#entries = at < 0 ? entries : [...this.#entries.slice(0, at), ...entries];
    const isWhole = at < 0 ? entries.length < PAGE : this.view.value.isWhole;
    this.view.value = { ...this.view.value, isWhole, error: "" };
    this.#show();
    void this.#readBranches();
  }

  /** After the messages, which are there without it. */
  async #readBranches(): Promise<void> {
    const { agent, key } = this.place;
    try {
      const branches = branchesFrom(await server.inspect.branches(key, { agent, signal: this.#signal }));
      this.view.value = { ...this.view.value, branches };
      this.#show();
    } catch {
      // A conversation is shown without its other versions.
    }
  }

  /** Reads entries before those that are known; `until`: as far as this one. */
  async older(until?: string): Promise<void> {
    if (this.#isReadingOlder || this.view.value.isWhole) return;
    this.#isReadingOlder = true;
    const { agent, key } = this.place;
    const limit = until === undefined ? PAGE * 2 : LARGE_PAGE;
    try {
      do {
        const before = this.#entries[0]?.id;
        const page = await server.entries(key, { agent, limit, before, signal: this.#signal });
        this.#entries = [...page, ...this.#entries];
        this.view.value = { ...this.view.value, isWhole: page.length < limit };
      } while (until !== undefined && !this.view.value.isWhole && !this.has(until));
      this.#show();
    } catch (error) {
      if (!this.#signal.aborted) this.view.value = { ...this.view.value, error: errorText(error) };
    } finally {
      this.#isReadingOlder = false;
    }
  }

  /** Reads the end again, which has been moved. */
  async refresh(): Promise<void> {
    this.#entries = [];
    await this.#readEnd();
  }

  has(entryId: string): boolean {
    return this.#entries.some(({ id }) => id === entryId);
  }

  /** Rows of the known entries; those of the turn that runs are in its events. */
  #pastWithout(work: string | undefined): readonly TalkItem[] {
    const { branches } = this.view.value;
    const of = [this.#entries, branches, work];
    if (of.every((each, at) => each === this.#past.of[at])) return this.#past.items;
    const own = this.#entries.filter(({ turnId }) => work === undefined || turnId !== work);
    this.#past = { of, items: withSwitches(itemsOf(own), branches) };
    return this.#past.items;
  }

  /** At most once for each frame of the screen. */
  #show(): void {
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = undefined;
      const live = this.#live;
      const past = this.#pastWithout(live?.work);
      this.view.value = {
        ...this.view.value,
        items: live ? [...past, ...live.items] : past,
        doing: live?.doing ?? "",
        work: live?.work,
        steps: live?.steps ?? 0,
      };
    });
  }
}
