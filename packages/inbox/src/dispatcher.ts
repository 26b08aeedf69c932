/**
 * Runs the inbox: one piece of work a session at a time, in the order of acceptance, many sessions at once. Work that a crash cut off
 * is run again under its id, so a session never has it twice; a plugin's command, which may do anything, is not run again.
 */
import { isPagurusError, PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { Authority } from "@pagurus/contract/host/authority";
import type { Pagurus } from "@pagurus/contract/host/host";
import type { PagurusHost } from "@pagurus/contract/host/pagurus-host";
import type { AskPermission, TurnRun } from "@pagurus/contract/host/run";
import { sleep } from "@pagurus/core/platform/deadline";
import type { Logger } from "@pagurus/core/platform/log";
import { nextSlice } from "@pagurus/core/platform/pace";
import type { Approvals } from "./approvals.ts";
import type { EventLog } from "./event-log.ts";
import type { Accepted, Alongside, Awaitable, Inbox } from "./inbox.ts";
import { equalInputs, hasSteering, recordedOutcome } from "./recorded-work.ts";
import type { CommandWork, CompactionWork, NewWork, TurnWork, Work, WorkEnd, WorkPlace } from "./work.ts";
import { defined } from "@pagurus/core/data/defined";

/** Interval of tries while another program holds the session, ms. */
const HELD_RETRY_MS = 500;
/** Newest work of a session that is searched for texts that joined one turn. */
const MOST_SEARCHED = 50;

export interface DispatcherOptions {
  inbox: Inbox;
  events: EventLog;
  approvals: Approvals;
  /** Work runs with the authority of who posted it. */
  host: Pick<PagurusHost, "as" | "sessions">;
  /** Whether who posted work may still do anything: its token is neither revoked nor expired. Default: always. */
  isValid?(authority: Authority): Awaitable<boolean>;
  logger: Logger;
  /** Sessions that may work at once. */
  maxTurns: number;
}

interface Running {
  work: Work;
  run: TurnRun | undefined;
  abort: AbortController;
  /** Later work of the session whose policy was applied to this one. */
  seen: Set<string>;
}

/** `held`: another program has the session, or the store is away: it is tried again. */
type Attempted = WorkEnd | { held: { code: string; message: string } };

function placeOf({ agentId, sessionKey }: WorkPlace): string {
  return JSON.stringify([agentId, sessionKey]);
}

export class Dispatcher {
  readonly #options: DispatcherOptions;
  /** By session. */
  readonly #running = new Map<string, Running>();
  /** Sessions that are looked at or worked in, until that ends. */
  readonly #busy = new Map<string, Promise<void>>();
  /** Sessions with waiting work, in the order of its acceptance. */
  readonly #due = new Map<string, WorkPlace>();
  /** Ends that could not be stored yet, by work. */
  readonly #ends = new Map<string, WorkEnd>();
  readonly #stopping = new AbortController();

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  /** Whether it runs work of the session, or of the parent of a subagent's. */
  runs(sessionKey: string | undefined): boolean {
    return [...this.#running.values()].some(({ work }) => isOf(sessionKey, work));
  }

  /** Answers permission questions of the turns that it runs. */
  readonly askPermission: AskPermission = async (question) => {
    const running = [...this.#running.values()].find(({ work }) => isOf(question.sessionKey, work));
    if (!running) return "unasked";
    if (question.accept && !mayAccept(running.work)) return "unasked";
    return this.#options.approvals.ask(running.work, question);
  };

  /** Takes up what an earlier process left, and what other hosts accept. */
  async start(): Promise<void> {
    const { inbox } = this.#options;
    inbox.watch?.({
      look: (place) => void this.#look(place).catch((error: unknown) => this.#report(error)),
      left: (place) => void this.#left(place).catch((error: unknown) => this.#report(error)),
      lost: (workId) => this.#lost(workId),
    });
    await this.#left();
  }

  /** Settles work that was to join a turn which is over, of a session or of all; then their work is due. */
  async #left(place?: WorkPlace): Promise<void> {
    const open = await this.#options.inbox.open(place);
    const ids = new Set<string | undefined>(open.map(({ id }) => id));
    for (const work of open) {
      // What has joined a turn that did not end, also one of another host, is settled with that.
      if (work.state === "steering" && !ids.has(work.intoWork)) await this.#settle(work);
      this.#due.set(placeOf(work), work);
    }
    this.#fill();
  }

  /** Ends work that was to join a turn which is over: it joined, or it waits for a turn of its own. */
  async #settle(steering: Work): Promise<void> {
    const { inbox, host } = this.#options;
    const turn = steering.intoWork === undefined ? undefined : await inbox.find(steering.intoWork);
    const others = equalInputs(turn, await inbox.ofSession(steering, MOST_SEARCHED), steering);
    if (await hasSteering(host.sessions(steering.agentId), steering, others))
      await inbox.ended(steering, { outcome: "steered" });
    else await inbox.queuesAgain(steering.id);
  }

  /** Posts work and begins it. Throws as `Inbox.post`. */
  async post(work: NewWork, alongside?: Alongside): Promise<Accepted> {
    const accepted = await this.#options.inbox.post(work, alongside);
    if (accepted.isNew) await this.#accepted(accepted.work);
    return accepted;
  }

  async #accepted(work: Work): Promise<void> {
    const running = this.#running.get(placeOf(work));
    if (running && (await this.#applies(work, running))) return;
    this.#due.set(placeOf(work), work);
    this.#fill();
  }

  /** What its policy does to the turn that runs. True where it joined that turn. */
  async #applies(work: Work, running: Running): Promise<boolean> {
    if (running.seen.has(work.id)) return false;
    running.seen.add(work.id);
    if (work.policy === "interrupt") running.abort.abort();
    return work.policy === "steer" && this.#steers(work, running);
  }

  async #steers(work: Work, running: Running): Promise<boolean> {
    const { inbox } = this.#options;
    const { prompt, parts } = work.request as TurnWork;
    if (work.kind !== "turn" || !running.run || (parts ?? []).length > 0) return false;
    if ((await inbox.ahead(work)) !== 1) return false;
    await inbox.steers(work, running.work.id);
    if (running.run?.steer(prompt) === true) return true;
    await inbox.queuesAgain(work.id);
    return false;
  }

  /** Another host may have accepted work for a session, or asks to stop one. */
  async #look(place: WorkPlace): Promise<void> {
    const key = placeOf(place);
    const running = this.#running.get(key);
    if (!running) {
      this.#due.set(key, place);
      return this.#fill();
    }
    for (const work of await this.#options.inbox.open(place)) {
      if (work.id === running.work.id && work.isStopAsked === true) running.abort.abort();
      if (work.seq > running.work.seq && work.state === "waiting") await this.#applies(work, running);
    }
  }

  /** The turn ends, as this host has no right to it any more. */
  #lost(workId: string): void {
    this.#ends.delete(workId);
    for (const { work, abort } of this.#running.values())
      if (work.id === workId) abort.abort(lostWork(workId));
  }

  #report(error: unknown): void {
    this.#options.logger.error("inbox not read", { code: toPagurusError(error).code });
  }

  /** Ends the turn that runs in a session; false where none does. */
  stopTurn(place: WorkPlace): boolean {
    const running = this.#running.get(placeOf(place));
    running?.abort.abort();
    return running !== undefined;
  }

  /** As `stopTurn`, also where another host runs it. */
  async stopAnywhere(place: WorkPlace): Promise<boolean> {
    return this.stopTurn(place) || (await this.#options.inbox.askStop(place));
  }

  /** Ends one piece of work: aborted where it runs, withdrawn where it waits. */
  async stopWork(work: Work): Promise<void> {
    const { inbox } = this.#options;
    if (this.runningIn(work)?.id === work.id) this.stopTurn(work);
    else if (!(await this.withdraw(work))) await inbox.askStop(work);
  }

  /** Takes out work that waits, or text that a turn of this host was to take; false where it has begun, joined or ended. */
  async withdraw({ id }: Pick<Work, "id">): Promise<boolean> {
    const { inbox } = this.#options;
    const work = await inbox.get(id);
    if (work.state !== "steering") return inbox.withdraw(id);
    const running = this.#running.get(placeOf(work));
    const { prompt } = work.request as TurnWork;
    if (running?.work.id !== work.intoWork || (await running?.run?.takeBack?.(prompt)) !== true) return false;
    return inbox.ended(work, { outcome: "withdrawn" });
  }

  /** Ends the open work of tokens: aborted where it runs, withdrawn where it waits. */
  async stopWorkOf(tokenIds: ReadonlySet<string>): Promise<void> {
    for (const work of await this.#options.inbox.open())
      if (tokenIds.has(work.authority.tokenId) && work.state !== "steering") await this.stopWork(work);
  }

  /** The work that runs in a session. */
  runningIn(place: WorkPlace): Work | undefined {
    return this.#running.get(placeOf(place))?.work;
  }

  get running(): Work[] {
    return [...this.#running.values()].map(({ work }) => work);
  }

  #fill(): void {
    for (const [key, place] of this.#due) {
      if (this.#stopping.signal.aborted || this.#busy.size >= this.#options.maxTurns) return;
      if (this.#busy.has(key)) continue;
      this.#due.delete(key);
      const done = this.#workIn(key, place)
        .catch(async (error: unknown) => {
          this.#report(error);
          // It is tried again: most likely the disk is full, or the database is away.
          this.#due.set(key, place);
          await sleep(HELD_RETRY_MS, this.#stopping.signal).catch(() => undefined);
        })
        .finally(() => {
          this.#busy.delete(key);
          this.#fill();
        });
      this.#busy.set(key, done);
    }
  }

  /** Runs the session's next work; afterwards another session may come first. */
  async #workIn(key: string, place: WorkPlace): Promise<void> {
    const begun = await this.#options.inbox.begin(place);
    if (!begun) return;
    const { work, isAgain } = begun;
    const running: Running = { work, run: undefined, abort: new AbortController(), seen: new Set() };
    this.#running.set(key, running);
    try {
      // The work may have an image of megabytes: others are served between its steps.
      await nextSlice();
      // Work that came since has a say in this turn.
      if (this.#due.has(key)) await this.#look(place);
      await this.#execute(running, isAgain);
    } finally {
      this.#running.delete(key);
      this.#due.set(key, place);
    }
  }

  async #execute(running: Running, isAgain: boolean): Promise<void> {
    const { inbox } = this.#options;
    const { work } = running;
    const known = this.#ends.get(work.id);
    if (isAgain && known) return this.#end(work, known);
    if (isAgain && work.kind === "command") return this.#end(work, cutOff(work));
    for (let reason: string | undefined; ;) {
      // Each try asks its permission questions from the first on.
      running.work = { ...work };
      const end = await this.#attempt(running);
      if (!("held" in end)) {
        if (!isLost(running.abort.signal)) this.#ends.set(work.id, end);
        await this.#end(work, end);
        return;
      }
      const { code } = end.held;
      // One event for all tries of a wait.
      await inbox.waits(work, code === reason ? undefined : end.held);
      reason = code;
      const isFree = await this.#untilFree(running);
      if (!isFree) return;
    }
  }

  /** Begins the next try; false where the server stops first, or the work was withdrawn or taken: it is not ended here then. */
  async #untilFree({ work, abort }: Running): Promise<boolean> {
    const signal = AbortSignal.any([this.#stopping.signal, abort.signal]);
    await sleep(HELD_RETRY_MS, signal).catch(() => undefined);
    if (this.#stopping.signal.aborted || isLost(abort.signal)) return false;
    if (abort.signal.aborted) await this.#end(work, { outcome: "aborted" });
    else if (await this.#options.inbox.retries(work)) return true;
    else await this.#left(work);
    return false;
  }

  #hostOf({ authority }: Work): Pick<Pagurus, "run" | "compact" | "command"> {
    return this.#options.host.as(authority);
  }

  async #attempt(running: Running): Promise<Attempted> {
    const { work } = running;
    if ((await this.#options.isValid?.(work.authority)) === false) return revoked(work);
    if (work.kind === "turn") return this.#turn(running, work.request as TurnWork);
    if (work.kind === "command") return this.#command(running, work.request as CommandWork);
    return this.#compaction(running);
  }

  async #command({ work, abort }: Running, request: CommandWork): Promise<WorkEnd> {
    const { agentId, sessionKey } = work;
    const { signal } = abort;
    try {
      const text = await this.#hostOf(work).command({ ...request, agentId, sessionKey, signal });
      this.#event(work, "command.output", { text });
      return { outcome: "completed" };
    } catch (error) {
      return failed(error);
    }
  }

  async #compaction({ work, abort }: Running): Promise<Attempted> {
    const { focus, cwd } = work.request as CompactionWork;
    const { agentId, sessionKey } = work;
    try {
      const report = await this.#hostOf(work).compact({
        agentId,
        sessionKey,
        ...defined({ focus, cwd }),
        signal: abort.signal,
      });
      this.#event(work, "compaction.report", report);
      return { outcome: "completed" };
    } catch (error) {
      const { code, message } = toPagurusError(error);
      return mustWait(code, false) ? { held: { code, message } } : failed(error);
    }
  }

  async #turn(running: Running, request: TurnWork): Promise<Attempted> {
    const { work, abort } = running;
    const { agentId, sessionKey, id: turnId } = work;
    let hasBegun = false;
    let end: Attempted = {
      outcome: "failed",
      error: { code: "internal", message: "The turn ended without a result." },
    };
    running.run = this.#hostOf(work).run({
      ...request,
      agentId,
      sessionKey,
      turnId,
      signal: abort.signal,
    });
    for await (const event of running.run) {
      const { type, ...data } = event;
      hasBegun ||= type === "turn.started";
      // Another host has the session; it has the turn too, or this one continues it later. Or the database is away.
      if (type === "turn.failed" && mustWait(event.error.code, hasBegun)) return { held: event.error };
      if (type === "turn.failed" && event.error.code === "turn_exists") return this.#recorded(work);
      this.#event(work, type, data);
      if (type === "turn.completed")
        end = { outcome: event.stopReason === "aborted" ? "aborted" : "completed" };
      if (type === "turn.failed") end = { outcome: "failed", error: event.error };
    }
    running.run = undefined;
    return end;
  }

  /** An earlier process ended the turn, or opened the session after the crash. */
  async #recorded(work: Work): Promise<WorkEnd> {
    const outcome = await recordedOutcome(this.#options.host.sessions(work.agentId), work);
    if (outcome !== "interrupted") return { outcome };
    const message = `The turn ${work.id} was cut off when its server ended, and its runtime cannot continue it; what it did is in the session.`;
    return { outcome, error: { code: "turn_aborted", message } };
  }

  async #end(work: Work, end: WorkEnd): Promise<void> {
    const { inbox } = this.#options;
    const joined = (await inbox.open(work)).filter(({ intoWork }) => intoWork === work.id);
    for (const steering of joined) await this.#settle(steering);
    await inbox.ended(work, end);
    this.#ends.delete(work.id);
  }

  #event(work: Work, type: string, data: object): void {
    const { id: workId, agentId, sessionKey } = work;
    this.#options.events.add({ workId, agentId, sessionKey, type, data });
  }

  /** Begins nothing more; waits for what runs, then aborts it. The rest stays in the inbox. */
  async stop(deadlineMs: number): Promise<void> {
    this.#stopping.abort();
    const running = [...this.#running.values()];
    const all = Promise.all(this.#busy.values());
    const timer = setTimeout(() => {
      for (const { abort } of running) abort.abort();
    }, deadlineMs);
    await all;
    clearTimeout(timer);
  }
}

/** Another host has the session, or the database is away or full. */
const WAITS = new Set(["lock_lost", "store_unreachable", "store_full"]);

function mustWait(code: string, hasBegun: boolean): boolean {
  return WAITS.has(code) || (code === "session_locked" && !hasBegun);
}

function isLost({ reason }: AbortSignal): boolean {
  return isPagurusError(reason) && reason.code === "lock_lost";
}

function lostWork(id: string): PagurusError {
  return new PagurusError(
    "lock_lost",
    `Another host took over the work ${id}; nothing more of it is recorded here.`,
  );
}

function failed(error: unknown): WorkEnd {
  const { code, message } = toPagurusError(error);
  return { outcome: code === "turn_aborted" ? "aborted" : "failed", error: { code, message } };
}

function revoked({ id }: Work): WorkEnd {
  const message = `The token that posted the work ${id} is revoked or has expired, so it does not run; post it with another one.`;
  return { outcome: "failed", error: { code: "token_invalid", message } };
}

/** The end of a command whose process ended in the middle of it. */
function cutOff({ request }: Work): WorkEnd {
  const { name } = request as CommandWork;
  const message = `The command /${name} was cut off when its server ended; look at what it did before you run it again.`;
  return { outcome: "interrupted", error: { code: "turn_aborted", message } };
}

/** Whether who posted the work may be the one who answers what only the owner may allow. */
function mayAccept({ origin, authority }: Work): boolean {
  return origin === "api" && authority.mayRemember;
}

/** Whether a question comes from the session of the work, or from a subagent of it. */
function isOf(sessionKey: string | undefined, work: Work): boolean {
  return sessionKey === work.sessionKey || sessionKey?.startsWith(`${work.sessionKey}/sub-`) === true;
}
