/** A turn that a server runs: posted into its inbox, its events followed, its permission questions answered at this terminal. */
import type { PagurusClient } from "@pagurus/client/client";
import type { ServerEvent, Work, WorkEvent } from "@pagurus/api/types";
import { plural } from "@pagurus/core/data/plain-numbers";
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { TurnEvent } from "@pagurus/contract/host/events";
import type { AskPermission, PermissionAnswer, RunRequest, TurnRun } from "@pagurus/contract/host/run";

type Asked = Extract<WorkEvent, { type: "approval.asked" }>;
type Ended = Extract<WorkEvent, { type: "work.ended" }>;

function failure(error: { code: string; message: string }): TurnEvent {
  return { type: "turn.failed", error: { code: error.code, message: error.message }, degraded: [] };
}

function notice(kind: string, detail: string): TurnEvent {
  return { type: "notice", kind, detail };
}

/** The end of work whose turn has no last event: it was withdrawn, or never began. */
function withoutTurn({ outcome, error }: Ended): TurnEvent {
  if (error) return failure(error);
  const code = outcome === "failed" ? "internal" : "turn_aborted";
  return failure({ code, message: `The server ended the turn before it began (${outcome}).` });
}

function isYes(answer: PermissionAnswer): boolean {
  return typeof answer === "string" ? answer !== "deny" && answer !== "unasked" : "content" in answer;
}

/** A text that is to join the turn. */
interface Steering {
  text: string;
  /** Undefined where the server has not accepted it. */
  posted: Promise<Work | undefined>;
  /** Whether it is taken out again; absent if that was not asked. */
  withdrawn?: Promise<boolean>;
  /** Who steered has it back. */
  isReturned?: true;
}

export interface RemoteRunOptions {
  client: PagurusClient;
  request: RunRequest & { sessionKey: string; agentId: string };
  ask: AskPermission | undefined;
}

export class RemoteRun implements TurnRun {
  readonly #options: RemoteRunOptions;
  readonly #posted: Promise<Work>;
  readonly #questions = new Map<string, { toolName: string; abort: AbortController }>();
  /** Answers of this terminal: whether each allows the call. */
  readonly #answers = new Map<string, boolean>();
  /** Texts that are to join the turn, also those on their way to the server. */
  readonly #steering: Steering[] = [];
  /** Notices of what happened beside the turn's events. */
  readonly #notices: TurnEvent[] = [];
  #isOver = false;
  #isTaken = false;

  constructor(options: RemoteRunOptions) {
    this.#options = options;
    const { client, request } = options;
    const { sessionKey, agentId, signal, tools: _tools, turnId: _id, ...turn } = request;
    this.#posted = client.postTurn(sessionKey, turn, { agent: agentId });
    // Each use has the error.
    this.#posted.catch(() => undefined);
    if (signal?.aborted === true) this.abort();
    else signal?.addEventListener("abort", () => this.abort(), { once: true });
  }

  abort(): void {
    if (this.#isOver) return;
    void this.#stop().catch(() => undefined);
  }

  async #stop(): Promise<void> {
    const { id } = await this.#posted;
    // Else what did not join begins a turn of its own.
    await Promise.all(this.#steering.map((steering) => this.#withdrawn(steering)));
    await this.#options.client.stopWork(id);
  }

  steer(text: string): boolean {
    if (text.trim() === "") throw new PagurusError("usage_invalid", "The text is empty; write some.");
    if (this.#isOver) return false;
    const { client, request } = this.#options;
    const { sessionKey, agentId } = request;
    // A turn that ended meanwhile does not lose the text: it begins the next one.
    const posted = client.postTurn(sessionKey, { prompt: text, policy: "steer" }, { agent: agentId });
    const noted = posted.catch((error: unknown) => {
      this.#notices.push(notice("steering", toPagurusError(error).message));
      return undefined;
    });
    this.#steering.push({ text, posted: noted });
    return true;
  }

  async takeBack(text: string): Promise<boolean> {
    const steering = this.#steering.findLast((each) => each.text === text && each.isReturned !== true);
    if (!steering || !(await this.#withdrawn(steering))) return false;
    steering.isReturned = true;
    return true;
  }

  #withdrawn(steering: Steering): Promise<boolean> {
    return (steering.withdrawn ??= this.#withdraw(steering));
  }

  async #withdraw({ posted }: Steering): Promise<boolean> {
    try {
      const work = await posted;
      if (work) await this.#options.client.withdraw(work.id);
      return true;
    } catch {
      // It has joined the turn, or begun one of its own; or the server is away, and may have it.
      return false;
    }
  }

  [Symbol.asyncIterator](): AsyncIterator<TurnEvent> {
    if (this.#isTaken) throw new PagurusError("usage_invalid", "The events of a turn are read once.");
    this.#isTaken = true;
    return this.#events();
  }

  async *#events(): AsyncGenerator<TurnEvent> {
    try {
      const work = await this.#posted;
      if (work.ahead > 0 && work.state === "waiting")
        yield notice("queued", `the session has ${plural(work.ahead, "turn")} before this one`);
      let hasEnd = false;
      for await (const { event } of this.#options.client.followWork(work.id)) {
        yield* this.#notices.splice(0);
        if (event.type === "work.ended") {
          if (!hasEnd) yield withoutTurn(event);
          return;
        }
        const shown = this.#shown(event);
        hasEnd ||= shown?.type === "turn.completed" || shown?.type === "turn.failed";
        if (shown) yield shown;
      }
    } catch (error) {
      yield failure(toPagurusError(error));
    } finally {
      this.#isOver = true;
      for (const { abort } of this.#questions.values()) abort.abort();
    }
  }

  /** The event of the turn; undefined for one of the inbox. */
  #shown(event: ServerEvent["event"]): TurnEvent | undefined {
    switch (event.type) {
      case "work.accepted":
      case "work.started":
      case "work.ended":
      case "compaction.report":
      case "command.output":
        return undefined;
      case "work.resumed":
        return notice("resumed", "the server has restarted, and continues the turn");
      case "work.waiting":
        return notice("waiting", event.message);
      case "approval.asked":
        void this.#answer(event);
        return undefined;
      case "approval.answered":
        return this.#answeredBy(event);
      default:
        return event;
    }
  }

  /** Closes a question that another client answered. */
  #answeredBy({ id, allowed }: Extract<WorkEvent, { type: "approval.answered" }>): TurnEvent | undefined {
    const { abort, toolName = "a tool" } = this.#questions.get(id) ?? {};
    abort?.abort();
    // The first answer counts: one that differs from this terminal's is another client's.
    if (this.#answers.get(id) === allowed) return undefined;
    return notice("permission", `another client ${allowed ? "allowed" : "denied"} ${toolName}`);
  }

  /** Asks here, unless another client answers first. */
  async #answer({ id, type: _type, ...question }: Asked): Promise<void> {
    const { client, ask } = this.#options;
    const abort = new AbortController();
    this.#questions.set(id, { toolName: question.toolName, abort });
    try {
      const answer = (await ask?.({ ...question, signal: abort.signal })) ?? "unasked";
      // A text that was typed instead of an answer is there before the turn continues.
      await Promise.all(this.#steering.map(({ posted }) => posted));
      if (abort.signal.aborted) return;
      this.#answers.set(id, isYes(answer));
      if (typeof answer === "string") await client.answer(id, answer);
      else if ("content" in answer) await client.answer(id, "once", { content: answer.content });
      else await client.answer(id, "deny", { reason: answer.deny });
    } catch (error) {
      this.#notices.push(notice("permission", toPagurusError(error).message));
    }
  }
}
