/**
 * Runs the inbox: one piece of work a session at a time, in the order of acceptance, many sessions at once. Work that a crash cut off
 * is run again under its id, so a session never has it twice; a plugin's command, which may do anything, is not run again.
 */
import { toPagurusError } from "../contract/errors.ts";
import type { Pagurus } from "../contract/host/host.ts";
import type { AskPermission, TurnRun } from "../contract/host/run.ts";
import { sleep } from "../platform/deadline.ts";
import type { Logger } from "../platform/log.ts";
import type { Approvals } from "./approvals.ts";
import type { EventLog } from "./event-log.ts";
import type { Accepted, Alongside, Inbox } from "./inbox.ts";
import { hasSteering, recordedOutcome } from "./recorded-work.ts";
import type { CommandWork, CompactionWork, NewWork, TurnWork, Work, WorkEnd } from "./work.ts";

/** Interval of tries while another program holds the session, ms. */
const HELD_RETRY_MS = 500;

export interface DispatcherOptions {
  inbox: Inbox;
  events: EventLog;
  approvals: Approvals;
  pagurus: Pick<Pagurus, "run" | "compact" | "command" | "sessions">;
  logger: Logger;
  /** Sessions that may work at once. */
  maxTurns: number;
}

interface Running {
  work: Work;
  run: TurnRun | undefined;
  abort: AbortController;
  done: Promise<void>;
}

/** `held`: another program has the session, and nothing was done. */
type Attempted = WorkEnd | { held: { code: string; message: string } };

function placeOf({ agentId, sessionKey }: Pick<Work, "agentId" | "sessionKey">): string {
  return JSON.stringify([agentId, sessionKey]);
}

export class Dispatcher {
  readonly #options: DispatcherOptions;
  /** By session. */
  readonly #running = new Map<string, Running>();
  /** Sessions with waiting work, in the order of its acceptance. */
  readonly #due = new Map<string, Pick<Work, "agentId" | "sessionKey">>();
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
    return running ? this.#options.approvals.ask(running.work, question) : "deny";
  };

  /** Takes up what an earlier process left. */
  async start(): Promise<void> {
    const { inbox, pagurus } = this.#options;
    const open = inbox.open();
    for (const work of open) {
      if (work.state === "steering") {
        const joined = await hasSteering(pagurus.sessions(work.agentId), work);
        if (joined) inbox.ended(work, { outcome: "steered" });
        else inbox.queuesAgain(work.id);
      }
      this.#due.set(placeOf(work), work);
    }
    this.#fill();
  }

  /** Posts work and begins it. Throws as `Inbox.post`. */
  async post(work: NewWork, alongside?: Alongside): Promise<Accepted> {
    const accepted = await this.#options.inbox.post(work, alongside);
    if (accepted.isNew) this.#accepted(accepted.work);
    return accepted;
  }

  #accepted(work: Work): void {
    const running = this.#running.get(placeOf(work));
    if (running && work.policy === "interrupt") running.abort.abort();
    if (running && work.policy === "steer" && this.#steers(work, running)) return;
    this.#due.set(placeOf(work), work);
    this.#fill();
  }

  #steers(work: Work, running: Running): boolean {
    const { inbox } = this.#options;
    const { prompt, parts } = work.request as TurnWork;
    const isFirst = inbox.ahead(work) === 1;
    if (work.kind !== "turn" || !running.run || !isFirst || (parts ?? []).length > 0) return false;
    inbox.steers(work, running.work.id);
    if (running.run.steer(prompt)) return true;
    inbox.queuesAgain(work.id);
    return false;
  }

  /** Ends the turn that runs in a session; false where none does. */
  stopTurn(place: Pick<Work, "agentId" | "sessionKey">): boolean {
    const running = this.#running.get(placeOf(place));
    running?.abort.abort();
    return running !== undefined;
  }

  /** Ends one piece of work: aborted where it runs, withdrawn where it waits. */
  stopWork(work: Work): void {
    if (this.runningIn(work)?.id === work.id) this.stopTurn(work);
    else this.#options.inbox.withdraw(work.id);
  }

  /** The work that runs in a session. */
  runningIn(place: Pick<Work, "agentId" | "sessionKey">): Work | undefined {
    return this.#running.get(placeOf(place))?.work;
  }

  get running(): Work[] {
    return [...this.#running.values()].map(({ work }) => work);
  }

  #fill(): void {
    for (const [key, place] of this.#due) {
      if (this.#stopping.signal.aborted || this.#running.size >= this.#options.maxTurns) return;
      if (this.#running.has(key)) continue;
      this.#due.delete(key);
      const [work] = this.#options.inbox.open(place).filter(({ state }) => state !== "steering");
      if (work) this.#begin(key, work);
    }
  }

  #begin(key: string, work: Work): void {
    const running: Running = { work, run: undefined, abort: new AbortController(), done: Promise.resolve() };
    this.#running.set(key, running);
    running.done = this.#execute(running)
      .catch(async (error: unknown) => {
        const { code } = toPagurusError(error);
        this.#options.logger.error("work of the inbox not ended", { work: work.id, code });
        // It is tried again: most likely the disk is full.
        await sleep(HELD_RETRY_MS * 4, this.#stopping.signal).catch(() => undefined);
      })
      .finally(() => {
        this.#running.delete(key);
        this.#due.set(key, work);
        this.#fill();
      });
  }

  async #execute(running: Running): Promise<void> {
    const { inbox } = this.#options;
    const { work } = running;
    const isAgain = work.state === "running";
    inbox.started(work, isAgain);
    if (isAgain && work.kind === "command") return this.#end(work, cutOff(work));
    for (;;) {
      const end = await this.#attempt(running);
      if (!("held" in end)) {
        await this.#end(work, end);
        return;
      }
      inbox.waits(work, end.held);
      const isFree = await this.#untilFree(running);
      if (!isFree) return;
    }
  }

  /** False where the server stops first, or the work was withdrawn: it is not ended here then. */
  async #untilFree({ work, abort }: Running): Promise<boolean> {
    const signal = AbortSignal.any([this.#stopping.signal, abort.signal]);
    await sleep(HELD_RETRY_MS, signal).catch(() => undefined);
    if (this.#stopping.signal.aborted) return false;
    if (abort.signal.aborted) this.#options.inbox.ended(work, { outcome: "aborted" });
    return this.#options.inbox.get(work.id).state === "waiting";
  }

  async #attempt(running: Running): Promise<Attempted> {
    const { work } = running;
    if (work.kind === "turn") return this.#turn(running, work.request as TurnWork);
    if (work.kind === "command") return this.#command(running, work.request as CommandWork);
    return this.#compaction(running);
  }

  async #command({ work, abort }: Running, request: CommandWork): Promise<WorkEnd> {
    const { agentId, sessionKey } = work;
    const { signal } = abort;
    try {
      const text = await this.#options.pagurus.command({ ...request, agentId, sessionKey, signal });
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
      const report = await this.#options.pagurus.compact({
        agentId,
        sessionKey,
        ...(focus === undefined ? {} : { focus }),
        ...(cwd === undefined ? {} : { cwd }),
        signal: abort.signal,
      });
      this.#event(work, "compaction.report", report);
      return { outcome: "completed" };
    } catch (error) {
      const { code, message } = toPagurusError(error);
      return code === "session_locked" ? { held: { code, message } } : failed(error);
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
    running.run = this.#options.pagurus.run({
      ...request,
      agentId,
      sessionKey,
      turnId,
      signal: abort.signal,
    });
    for await (const event of running.run) {
      const { type, ...data } = event;
      hasBegun ||= type === "turn.started";
      if (type === "turn.failed" && !hasBegun && event.error.code === "session_locked")
        return { held: event.error };
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
    const outcome = await recordedOutcome(this.#options.pagurus.sessions(work.agentId), work);
    if (outcome !== "interrupted") return { outcome };
    const message = `The turn ${work.id} was cut off when its server ended, and its runtime cannot continue it; what it did is in the session.`;
    return { outcome, error: { code: "turn_aborted", message } };
  }

  async #end(work: Work, end: WorkEnd): Promise<void> {
    const { inbox, pagurus } = this.#options;
    const joined = inbox.open(work).filter(({ intoWork }) => intoWork === work.id);
    for (const steering of joined) {
      if (await hasSteering(pagurus.sessions(work.agentId), steering))
        inbox.ended(steering, { outcome: "steered" });
      else inbox.queuesAgain(steering.id);
    }
    inbox.ended(work, end);
  }

  #event(work: Work, type: string, data: object): void {
    const { id: workId, agentId, sessionKey } = work;
    this.#options.events.add({ workId, agentId, sessionKey, type, data });
  }

  /** Begins nothing more; waits for what runs, then aborts it. The rest stays in the inbox. */
  async stop(deadlineMs: number): Promise<void> {
    this.#stopping.abort();
    const running = [...this.#running.values()];
    const all = Promise.all(running.map(({ done }) => done));
    const timer = setTimeout(() => {
      for (const { abort } of running) abort.abort();
    }, deadlineMs);
    await all;
    clearTimeout(timer);
  }
}

function failed(error: unknown): WorkEnd {
  const { code, message } = toPagurusError(error);
  return { outcome: code === "turn_aborted" ? "aborted" : "failed", error: { code, message } };
}

/** The end of a command whose process ended in the middle of it. */
function cutOff({ request }: Work): WorkEnd {
  const { name } = request as CommandWork;
  const message = `The command /${name} was cut off when its server ended; look at what it did before you run it again.`;
  return { outcome: "interrupted", error: { code: "turn_aborted", message } };
}

/** Whether a question comes from the session of the work, or from a subagent of it. */
function isOf(sessionKey: string | undefined, work: Work): boolean {
  return sessionKey === work.sessionKey || sessionKey?.startsWith(`${work.sessionKey}/sub-`) === true;
}
