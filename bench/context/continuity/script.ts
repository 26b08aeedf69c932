/** The author of a scripted job: each act becomes messages, and the resulting state is recorded with them. */
import type { AgentMessage, AssistantMessage, ToolCallPart } from "../../../packages/contract/src/message.ts";
import type { TurnOutcome } from "../../../packages/contract/src/session/transcript.ts";
import { generateTranscript, mulberry32 } from "../../generate.ts";
import {
  entryId,
  type ModelCall,
  type RecordedSession,
} from "../../../packages/replay/src/recorded-session.ts";
import type { Effect, FileState, JobState, Step } from "./state.ts";

/** As the host writes it for a call that an abort has cut off. */
const ABORTED = "The turn was aborted before this tool call finished; its outcome is unknown.";
const AREAS = "billing,search,mail,reports,login,export,mobile,audit,orders,stock".split(",");
export const NOUNS = "parser,router,cache,form,index,worker,schema,client,policy,layout".split(",");
const WRITTEN_CHARACTERS = 1_500;

export interface Job {
  session: RecordedSession;
  /** By the call's index. */
  states: readonly JobState[];
}

/** One call of a round, and its result. */
interface Act {
  name: string;
  args: Record<string, unknown>;
  result: string;
  isError?: boolean;
}

export class Script {
  readonly #random: () => number;
  readonly #hundreds: number;
  /** Texts of tools' results, taken in turn. */
  readonly #results: readonly string[];
  readonly #messages: AgentMessage[] = [];
  readonly #calls: ModelCall[] = [];
  readonly #states: JobState[] = [];
  readonly #outcomes = new Map<string, TurnOutcome>();
  readonly #userTexts: string[] = [];
  readonly #corrections: string[] = [];
  readonly #constraints: string[] = [];
  readonly #files = new Map<string, FileState>();
  readonly #finished: string[] = [];
  #effects: Effect[] = [];
  #openStep: Step | undefined;
  #aborted: string | undefined;
  #liveStart = 0;
  #turns = 0;
  #marks = 0;
  #ids = 0;

  /** `hundreds`: of files in the project. */
  constructor(seed: number, hundreds: number) {
    this.#hundreds = hundreds;
    this.#random = mulberry32(seed);
    this.#results = generateTranscript({ seed, messages: 600 }).flatMap((message) =>
      message.role === "toolResult"
        ? message.content.map((part) => (part.type === "text" ? part.text : ""))
        : [],
    );
  }

  below(bound: number): number {
    return Math.floor(this.#random() * bound);
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T;
  }

  /** A string that identifies one thing only. */
  mark(kind: string): string {
    return `${kind}-${String(++this.#marks).padStart(3, "0")}${this.below(0xffff).toString(16).padStart(4, "0")}`;
  }

  path(): string {
    return `src/${this.pick(AREAS)}/${this.pick(NOUNS)}-${this.below(this.#hundreds)}.ts`;
  }

  output(): string {
    return this.pick(this.#results);
  }

  /** Opens a turn. `constraints` are sentences of the text. */
  says(text: string, constraints: readonly string[] = []): void {
    this.#turns++;
    this.#liveStart = this.#messages.length;
    this.#constraints.push(...constraints);
    this.adds(text);
  }

  /** The user sends a message while the agent works. */
  adds(text: string): void {
    this.#userTexts.push(text);
    this.#effects = [];
    this.#push({ role: "user", content: text });
  }

  corrects(text: string): void {
    this.#corrections.push(text);
    this.adds(text);
  }

  begins(step: Step): void {
    this.#openStep = step;
    const { mark } = step;
    this.round(`Now ${mark}.`, [
      {
        name: "update_plan",
        args: { step: mark, status: "in_progress" },
        result: `Step ${mark}: in progress.`,
      },
    ]);
  }

  finishes({ mark }: Step): void {
    this.round(`${mark} is done.`, [
      { name: "update_plan", args: { step: mark, status: "done" }, result: `Step ${mark}: done.` },
    ]);
    this.#finished.push(mark);
    this.#openStep = undefined;
    this.#aborted = undefined;
  }

  /** One answer with its calls, and their results in the order of the calls. */
  round(thought: string, acts: readonly Act[]): void {
    const calls = acts.map(({ name, args }): ToolCallPart => {
      return { type: "toolCall", id: `call_${++this.#ids}`, name, arguments: args };
    });
    this.#call([{ type: "text", text: thought }, ...calls]);
    for (const [index, { result, isError = false }] of acts.entries()) {
      const { id = "", name = "" } = calls[index] ?? {};
      const content = [{ type: "text" as const, text: result }];
      this.#push({ role: "toolResult", toolCallId: id, toolName: name, content, isError });
    }
  }

  answers(text: string): void {
    this.#call([{ type: "text", text }]);
  }

  /** A file that was deleted cannot be read: it is written again. */
  reads(path: string): void {
    if (this.#files.get(path) === "gone") return this.writes(path, "Bringing it back");
    this.round(`Let me look at ${path}.`, [{ name: "read", args: { path }, result: this.output() }]);
    this.#sees(path);
  }

  #sees(path: string): void {
    if (!this.#files.has(path)) this.#files.set(path, "seen");
  }

  writes(path: string, why: string): void {
    this.round(`${why} in ${path}.`, [this.#writing(path)]);
    this.#files.set(path, "changed");
  }

  #writing(path: string): Act {
    const content = this.output().slice(0, WRITTEN_CHARACTERS);
    const result = `Wrote ${content.length} characters to ${path}.`;
    return { name: "write", args: { path, content }, result };
  }

  /** The file is not changed. */
  failsToEdit(path: string): void {
    const args = { path, oldText: this.output().slice(0, 200), newText: "" };
    this.round("This goes out.", [
      { name: "edit", args, result: `The old text is not in ${path}.`, isError: true },
    ]);
  }

  deletes(path: string): void {
    this.round(`${path} is not needed any more.`, [
      { name: "shell", args: { command: `rm ${path}` }, result: "" },
    ]);
    this.#files.set(path, "gone");
  }

  failsToDelete(path: string): void {
    const result = `rm: cannot remove '${path}': Permission denied`;
    this.round(`${path} should go.`, [
      { name: "shell", args: { command: `rm ${path}` }, result, isError: true },
    ]);
  }

  /** A file that does not exist cannot be renamed: it is written. */
  renames(path: string, to: string): void {
    if (!this.has(path) || this.has(to)) return this.writes(path, "Something new");
    this.round("It needs another name.", [
      { name: "shell", args: { command: `git mv ${path} ${to}` }, result: "" },
    ]);
    this.#files.set(path, "gone");
    this.#files.set(to, "changed");
  }

  has(path: string): boolean {
    return this.#files.has(path) && this.#files.get(path) !== "gone";
  }

  /** Reads and a write in one answer. */
  worksInParallel(paths: readonly string[], written: string): void {
    const read = [...new Set(paths)].filter((path) => this.#files.get(path) !== "gone" && path !== written);
    const reads = read.map((path): Act => ({ name: "read", args: { path }, result: this.output() }));
    this.round("All of these at once.", [...reads, this.#writing(written)]);
    for (const path of read) this.#sees(path);
    this.#files.set(written, "changed");
  }

  /** A command with a side effect, retried where it failed. */
  acts(command: string, mark: string, failures: number, gives: Effect["outcome"] = "done"): void {
    const args = { command: `${command} ${mark}` };
    for (let index = 0; index < failures; index++) {
      const result = `error: the other side has not answered (${mark})`;
      this.round("This changes the world outside.", [{ name: "shell", args, result, isError: true }]);
      this.#effect(mark, "failed");
    }
    if (gives === "failed") return;
    this.round("This changes the world outside.", [{ name: "shell", args, result: `done: ${mark}` }]);
    this.#effect(mark, "done");
  }

  #effect(mark: string, outcome: Effect["outcome"]): void {
    this.#effects = [...this.#effects.filter((effect) => effect.mark !== mark), { mark, outcome }];
  }

  /** The user aborts the turn while a command runs; the step stays open. */
  aborts(command: string, mark: string): void {
    const args = { command: `${command} ${mark}` };
    this.round("This changes the world outside.", [{ name: "shell", args, result: ABORTED, isError: true }]);
    this.#outcomes.set(this.#turnId, "aborted");
    this.#aborted = mark;
  }

  get #turnId(): string {
    return `t${this.#turns}`;
  }

  #call(content: AssistantMessage["content"]): void {
    const end = this.#messages.length;
    this.#calls.push({
      index: this.#calls.length,
      turnId: this.#turnId,
      end,
      liveStart: this.#liveStart,
      at: end * 1_000,
    });
    this.#states.push({
      userTexts: [...this.#userTexts],
      corrections: [...this.#corrections],
      constraints: [...this.#constraints],
      files: new Map(this.#files),
      openStep: this.#openStep,
      finishedSteps: [...this.#finished],
      effects: this.#effects,
      aborted: this.#aborted,
    });
    const stopReason = content.some((part) => part.type === "toolCall") ? "toolUse" : "stop";
    this.#push({ role: "assistant", content, stopReason });
  }

  #push(message: AgentMessage): void {
    const position = this.#messages.length;
    this.#messages.push({ ...message, timestamp: position * 1_000, entryId: entryId(position) });
  }

  job(name: string): Job {
    const [messages, calls, outcomes] = [this.#messages, this.#calls, this.#outcomes];
    return { session: { name, messages, calls, factor: 1, outcomes }, states: this.#states };
  }
}
