/**
 * Long scripted jobs of an agent, from a seed: a plan of the user, steps that read and write files and act on the
 * world, corrections in the middle. What a context has to hold is known at every call.
 */
import type { AgentMessage, AssistantMessage, ToolCallPart } from "../../../src/contract/message.ts";
import { generateTranscript, mulberry32 } from "../../generate.ts";
import { entryId, type ModelCall, type RecordedSession } from "../replay/session.ts";

export type FileState = "seen" | "changed" | "gone";

/** What is true before a call; the words of it are the message's own. */
export interface JobState {
  /** Everything the user has said so far, corrections among it. */
  userTexts: readonly string[];
  corrections: readonly string[];
  files: ReadonlyMap<string, FileState>;
  /** Words of the plan's step that is being worked on. */
  openStep: string;
  /** Marks of steps that are done, each in the plan and in the calls of that step. */
  finishedSteps: readonly string[];
  /** What the agent did to the world since the user last spoke: a mark in the call and in its result. */
  sideEffects: readonly string[];
}

export interface Job {
  session: RecordedSession;
  /** By the call's index. */
  states: readonly JobState[];
}

const AREAS = "billing,search,mail,reports,login,export,mobile,audit,orders,stock".split(",");
const NOUNS = "parser,router,cache,form,index,worker,schema,client,policy,layout".split(",");
const ROUNDS_BEFORE_ANSWER = 14;

class Script {
  readonly #random: () => number;
  /** Texts of tools' results, taken in turn. */
  readonly #results: readonly string[];
  readonly #messages: AgentMessage[] = [];
  readonly #calls: ModelCall[] = [];
  readonly #states: JobState[] = [];
  readonly #userTexts: string[] = [];
  readonly #corrections: string[] = [];
  readonly #files = new Map<string, FileState>();
  readonly #finished: string[] = [];
  #sideEffects: string[] = [];
  #openStep = "";
  #liveStart = 0;
  #turns = 0;
  #marks = 0;

  constructor(seed: number) {
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

  /** A string that stands for one thing only. */
  mark(kind: string): string {
    return `${kind}-${String(++this.#marks).padStart(3, "0")}${this.below(0xffff).toString(16).padStart(4, "0")}`;
  }

  path(): string {
    return `src/${this.pick(AREAS)}/${this.pick(NOUNS)}-${this.below(40)}.ts`;
  }

  says(text: string): void {
    this.#turns++;
    this.#liveStart = this.#messages.length;
    this.#userTexts.push(text);
    this.#sideEffects = [];
    this.#push({ role: "user", content: text });
  }

  /** The user says something while the agent works. */
  corrects(text: string): void {
    this.#userTexts.push(text);
    this.#corrections.push(text);
    this.#sideEffects = [];
    this.#push({ role: "user", content: text });
  }

  begins(step: string): void {
    this.#openStep = step;
  }

  finishes(mark: string): void {
    this.#finished.push(mark);
  }

  /** One call and its result. */
  round(thought: string, name: string, args: Record<string, unknown>, result: string, isError = false): void {
    const id = `call_${this.#messages.length}`;
    const call: ToolCallPart = { type: "toolCall", id, name, arguments: args };
    this.#call([{ type: "text", text: thought }, call]);
    this.#push({
      role: "toolResult",
      toolCallId: id,
      toolName: name,
      content: [{ type: "text", text: result }],
      isError,
    });
  }

  answers(text: string): void {
    this.#call([{ type: "text", text }]);
  }

  /** A file that was deleted cannot be read: it is written anew. */
  reads(path: string): void {
    if (this.#files.get(path) === "gone") return this.writes(path, "Bringing it back");
    this.round(`Let me look at ${path}.`, "read", { path }, this.output());
    if (!this.#files.has(path)) this.#files.set(path, "seen");
  }

  writes(path: string, why: string): void {
    const content = this.output().slice(0, 1_500);
    this.round(
      `${why} in ${path}.`,
      "write",
      { path, content },
      `Wrote ${content.length} characters to ${path}.`,
    );
    this.#files.set(path, "changed");
  }

  deletes(path: string): void {
    this.round(`${path} is not needed any more.`, "shell", { command: `rm ${path}` }, "");
    this.#files.set(path, "gone");
  }

  acts(command: string, mark: string): void {
    this.round(
      "This changes the world outside.",
      "shell",
      { command: `${command} ${mark}` },
      `done: ${mark}`,
    );
    this.#sideEffects = [...this.#sideEffects, mark];
  }

  output(): string {
    return this.pick(this.#results);
  }

  #call(content: AssistantMessage["content"]): void {
    const turnId = `t${this.#turns}`;
    const end = this.#messages.length;
    this.#calls.push({ index: this.#calls.length, turnId, end, liveStart: this.#liveStart, at: end * 1_000 });
    this.#states.push({
      userTexts: [...this.#userTexts],
      corrections: [...this.#corrections],
      files: new Map(this.#files),
      openStep: this.#openStep,
      finishedSteps: [...this.#finished],
      sideEffects: this.#sideEffects,
    });
    const stopReason = content.some((part) => part.type === "toolCall") ? "toolUse" : "stop";
    this.#push({ role: "assistant", content, stopReason });
  }

  #push(message: AgentMessage): void {
    const position = this.#messages.length;
    this.#messages.push({ ...message, timestamp: position * 1_000, entryId: entryId(position) });
  }

  job(name: string): Job {
    return {
      session: { name, messages: this.#messages, calls: this.#calls, factor: 1 },
      states: this.#states,
    };
  }
}

const CORRECTIONS = [
  "No, not like that: use MARK for the names from now on, also in what is written already.",
  "Stop using the old client. Only MARK may talk to the network.",
  "I was wrong about the limit, it is MARK and nothing else.",
  "Do not touch anything under MARK, another team works there.",
];

interface Step {
  mark: string;
  text: string;
}

/** Works on one step of a plan; about 14 calls, with a correction where one is given. */
function work(script: Script, step: Step, correction: string | undefined): void {
  script.begins(step.text);
  const paths = Array.from({ length: 4 }, () => script.path());
  for (let round = 0; round < ROUNDS_BEFORE_ANSWER; round++) {
    const path = script.pick(paths);
    const kind = script.below(10);
    if (correction !== undefined && round === 6) script.corrects(correction);
    if (kind < 4) script.reads(path);
    else if (kind < 7) script.writes(path, `Working on ${step.mark}`);
    else if (kind === 7) script.round("Tests.", "shell", { command: "npm test" }, script.output(), true);
    else if (kind === 8) script.acts("git push origin", script.mark("commit"));
    else script.deletes(path);
  }
  script.acts("deploy", script.mark("deploy"));
  script.round(
    `${step.mark} is done.`,
    "update_plan",
    { step: step.mark, status: "done" },
    `Step ${step.mark}: done.`,
  );
  script.finishes(step.mark);
}

export interface JobOptions {
  seed: number;
  turns: number;
  /** Characters of text that the user pastes behind each request, so that the user's words exceed their share. */
  pasted?: number;
}

/**
 * A job of so many requests, each a plan of four steps. Two of three steps have a correction in the middle. About 65
 * calls and 45,000 tokens a turn.
 */
export function scriptedJob({ seed, turns, pasted = 0 }: JobOptions): Job {
  const script = new Script(seed);
  for (let turn = 0; turn < turns; turn++) {
    const steps = Array.from({ length: 4 }, (): Step => {
      const mark = script.mark("step");
      return { mark, text: `${mark}: rework the ${script.pick(NOUNS)} of ${script.pick(AREAS)}` };
    });
    script.says(
      `Please do these things one after the other, and keep the names as they are:\n${steps
        .map(({ text }) => `- ${text}`)
        .join("\n")}${pasted === 0 ? "" : `\n\nThis is what I have:\n${script.output().slice(0, pasted)}`}`,
    );
    for (const step of steps) {
      const corrected = script.below(3) > 0;
      const correction = corrected
        ? script.pick(CORRECTIONS).replace("MARK", script.mark("rule"))
        : undefined;
      work(script, step, correction);
    }
    script.begins("");
    script.answers(`All four steps are done: ${steps.map(({ mark }) => mark).join(", ")}.`);
  }
  return script.job(`job ${seed}`);
}
