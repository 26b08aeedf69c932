/**
 * The client of all adapters. It runs inside the plugin sandboxes of other programs: it imports nothing, and its transport, its clock and
 * its way to report are passed in.
 */

/** Version of the requests and answers, as of the service. */
const PROTOCOL = 1;
/** Deadline of a request that a turn waits for, ms: programs wait for a hanging hook without end, or 10 to 30 s. */
const DEADLINE_MS = 2_000;
/** Deadline of a compaction, ms: the program's own would call a model for longer than that. */
const COMPACTION_MS = 10_000;
/** Time between two tries to start a host that does not run, ms. */
const WAKE_MS = 30_000;
/** Time between two tries to reach a host that starts, ms, and how many of them a compaction makes. */
const RETRY_MS = 250;
const RETRIES = 20;

export interface ProgramMessage {
  role: "user" | "assistant";
  text: string;
  calls: { id: string; name: string; input: Record<string, unknown> }[];
  results: { id: string; text: string; isError: boolean }[];
  origin?: string;
}

/** The facts that an installation writes beside the adapter, `place.json`. */
export interface Place {
  socket: string;
  /** Command that starts the host in the background and ends. */
  wake: string[];
  deadlineMs?: number;
  compactionMs?: number;
}

/** The functions of the program that the client uses. */
export interface Surroundings {
  program: string;
  /** Version of the program. */
  version: string;
  place: Place;
  /** Posts a text over the socket; rejects where no host listens. */
  post(socket: string, path: string, body: string): Promise<{ status: number; text: string }>;
  /** Resolves after a time. */
  sleep(ms: number): Promise<void>;
  /** Runs a command without waiting for it. */
  run(argv: string[]): void;
  /** Shows one line to the user. */
  notice(line: string): void;
}

/** The conversation that a request is about. */
export interface Conversation {
  session: string;
  agent?: string;
  cwd: string;
}

export interface Compaction {
  head: string;
  keep: number[];
  tokensBefore?: number;
  tokensAfter?: number;
}

type Answer = Record<string, unknown>;

const NO_HOST = "no host of Pagurus answers";

/** Thrown where the adapter leaves a hook's work to the program. */
export class FallBack extends Error {
  override name = "FallBack";
}

export class HostClient {
  readonly #surroundings: Surroundings;
  readonly #shown = new Set<string>();
  /** Reports that no host has taken yet, counts by hook and reason. */
  readonly #waiting = new Map<string, { hook: string; reason: string; count: number }>();
  #greeted: Promise<void> | undefined;
  #woken = false;

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  /**
   * Runs a hook's work, and `otherwise` (the program's own way) where it fails, with one line for the user and a report for the host. A
   * failure of `otherwise` itself is the program's.
   */
  async guarded<T>(hook: string, work: () => Promise<T>, otherwise: () => Promise<T>): Promise<T> {
    let result: T;
    try {
      result = await work();
    } catch (error) {
      this.#fellBack(hook, error);
      return otherwise();
    }
    return result;
  }

  /** Posts a request. Throws `FallBack`. */
  async ask(operation: string, at: Conversation, body: object = {}): Promise<Answer> {
    await this.#greet();
    return this.#post(operation, { ...at, ...body }, this.#surroundings.place.deadlineMs ?? DEADLINE_MS);
  }

  /** The engine's compaction of a list. Throws `FallBack`, also for an answer with cut points that do not hold. */
  async compact(
    at: Conversation,
    messages: readonly ProgramMessage[],
    details: { reason: string; focus?: string },
  ): Promise<Compaction> {
    const answer = await this.askPatiently("compact", at, { messages, ...details });
    const problem = cutProblem(messages, answer);
    if (problem !== undefined) throw new FallBack(`the answer of the host cannot be used: ${problem}`);
    return answer as unknown as Compaction;
  }

  /** Posts a request that takes long, and waits for a host that starts. Throws `FallBack`. */
  async askPatiently(operation: string, at: Conversation, body: object): Promise<Answer> {
    await this.#greetWhileStarting();
    const deadline = this.#surroundings.place.compactionMs ?? COMPACTION_MS;
    const send = (): Promise<Answer> => this.#post(operation, { ...at, ...body }, deadline);
    return send().catch(async (error: unknown) => {
      if (!isWithoutHost(error) || this.#surroundings.place.wake.length === 0) throw error;
      await this.#greetWhileStarting();
      return send();
    });
  }

  async #greet(): Promise<void> {
    this.#greeted ??= this.#hello().catch((error: unknown) => {
      this.#greeted = undefined;
      throw error;
    });
    await this.#greeted;
  }

  /** A compaction waits for a host that ended while nothing was to do, and that starts again now. */
  async #greetWhileStarting(): Promise<void> {
    const { place, sleep } = this.#surroundings;
    for (let tries = place.wake.length === 0 ? 0 : RETRIES; ; tries -= 1) {
      try {
        return await this.#greet();
      } catch (error) {
        if (tries <= 0 || !isWithoutHost(error)) throw error;
      }
      await sleep(RETRY_MS);
    }
  }

  async #hello(): Promise<void> {
    const { version, place } = this.#surroundings;
    const { protocol } = await this.#post("hello", { version }, place.deadlineMs ?? DEADLINE_MS);
    if (protocol !== PROTOCOL)
      throw new FallBack(
        `the host speaks version ${String(protocol)} and this adapter ${PROTOCOL}; run pagurus install again`,
      );
  }

  async #post(operation: string, body: object, deadlineMs: number): Promise<Answer> {
    const { place, program, post, sleep } = this.#surroundings;
    const text = JSON.stringify({ program, ...body });
    const late = sleep(deadlineMs).then(() => {
      throw new FallBack(`the host did not answer within ${deadlineMs} ms`);
    });
    // The one that loses is not waited for.
    late.catch(() => undefined);
    const sent = post(place.socket, `/v1/${operation}`, text).catch(() => {
      this.#greeted = undefined;
      this.#wake();
      throw new FallBack(NO_HOST);
    });
    const answered = await Promise.race([sent, late]);
    const answer = parsed(answered.text);
    if (answered.status !== 200 || !answer) throw new FallBack(refusal(answer, answered.status));
    if (operation !== "report") this.#deliver();
    return answer;
  }

  /** Starts the host for the next request, at most twice a minute. */
  #wake(): void {
    const { place, run, sleep } = this.#surroundings;
    if (this.#woken || place.wake.length === 0) return;
    this.#woken = true;
    run(place.wake);
    void sleep(WAKE_MS).then(
      () => (this.#woken = false),
      () => (this.#woken = false),
    );
  }

  /** Starts the host if none is running, so that the first request finds one. */
  async warm(): Promise<void> {
    await this.#greet().catch(() => undefined);
  }

  #fellBack(hook: string, error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    const name = `${hook}: ${reason}`;
    const known = this.#waiting.get(name) ?? { hook, reason, count: 0 };
    known.count += 1;
    this.#waiting.set(name, known);
    if (this.#shown.has(name)) return;
    this.#shown.add(name);
    this.#surroundings.notice(`Pagurus: ${hook} was left to ${this.#surroundings.program} (${reason})`);
  }

  /** Sends the reports that wait; one that fails waits again. */
  #deliver(): void {
    for (const [name, report] of this.#waiting) {
      this.#waiting.delete(name);
      void this.#post("report", report, DEADLINE_MS).catch(() => {
        const since = this.#waiting.get(name);
        this.#waiting.set(name, { ...report, count: report.count + (since?.count ?? 0) });
      });
    }
  }
}

/**
 * Why the answer of a compaction cannot be used: an index that the list does not have, one out of order, or half a pair. Undefined for one
 * that can be.
 */
export function cutProblem(messages: readonly ProgramMessage[], answer: Answer): string | undefined {
  const { head, keep } = answer;
  if (typeof head !== "string" || head.trim() === "") return "it has no head";
  if (!Array.isArray(keep)) return "it names no messages to keep";
  const kept = new Set<string>();
  let before = -1;
  for (const index of keep as unknown[]) {
    if (typeof index !== "number" || !Number.isInteger(index) || index <= before) return "its order is wrong";
    const message = messages[index];
    if (!message) return "it keeps a message that the program does not have";
    before = index;
    for (const { id } of message.calls) kept.add(`call ${id}`);
    for (const { id } of message.results) kept.add(`result ${id}`);
  }
  if (kept.size === 0 && keep.length === messages.length) return "it leaves nothing out";
  const results = new Set(messages.flatMap((message) => message.results.map(({ id }) => id)));
  for (const name of kept) {
    const id = name.slice(name.indexOf(" ") + 1);
    if (name.startsWith("result ") && !kept.has(`call ${id}`)) return "it keeps a result without its call";
    if (name.startsWith("call ") && results.has(id) && !kept.has(`result ${id}`))
      return "it keeps a call without its result";
  }
  return undefined;
}

function isWithoutHost(error: unknown): boolean {
  return error instanceof FallBack && error.message === NO_HOST;
}

function parsed(text: string): Answer | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Answer) : undefined;
  } catch {
    return undefined;
  }
}

function refusal(answer: Answer | undefined, status: number): string {
  const error = answer?.["error"];
  const message = typeof error === "object" && error !== null ? (error as Answer)["message"] : undefined;
  return typeof message === "string" ? message : `the host answered with status ${status}`;
}
