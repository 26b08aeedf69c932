/** The conversations that a folder must have after each step, by the rules of decision 010. */
import { nameOf, otherOf, type Program, type Random, type Step } from "./folders-walk.ts";

export interface Conversation {
  /** Undefined until the session store has it. */
  key: string | undefined;
  begunBy: Program;
  /** Words of the user and of answers, in their order. */
  words: string[];
}

/** What a program itself keeps of a conversation, under its own name. */
interface Thread {
  words: readonly string[];
  conversation: Conversation;
}

/** `copies`: begins with the words of a conversation in use. `program-refuses`: Codex, for a thread that another Codex has open. */
type Outcome = "begins" | "continues" | "copies" | "refused" | "program-refuses";

export interface Run {
  step: Step;
  outcome: Outcome;
  /** In what the user sends, and in the answer; no other run has them. */
  word: string;
  answer: string;
  /** Key on the command line. */
  key: string | undefined;
  /** The conversation that it must continue or begin. */
  conversation: Conversation;
  /** All words that its request must have, in their order. */
  words: readonly string[];
  thread: Thread;
}

export class FolderModel {
  readonly conversations: Conversation[] = [];
  readonly #random: Random;
  readonly #secret: string;
  /** The newest thread of each program. */
  readonly #threads = new Map<Program, Thread>();
  #started = 0;
  #last: Conversation | undefined;
  #live: Run | undefined;

  constructor(secret: string, random: Random) {
    this.#secret = secret;
    this.#random = random;
  }

  /** What must happen to a step that starts now, beside the live one where there is one. */
  start(step: Step): Run {
    this.#started += 1;
    const [word, answer] = ["word", "answer"].map((kind) => `${kind}-${this.#secret}-${this.#started}`) as [
      string,
      string,
    ];
    const resumed = step.way === "resume" ? this.#threads.get(step.program) : undefined;
    const present = this.#present(step, resumed);
    const outcome = this.#outcome(step, present);
    const before = outcome === "copies" ? this.#copied(resumed) : (present?.words ?? []);
    const words = [...before, word];
    const begun: Conversation = { key: undefined, begunBy: step.program, words: [...before] };
    const conversation = outcome === "begins" || outcome === "copies" ? begun : (present ?? begun);
    const thread = { words: [...(resumed?.words ?? []), word], conversation };
    const key = step.way === "own" || step.way === "other" ? present?.key : undefined;
    const run: Run = { step, outcome, word, answer, key, conversation, words, thread };
    if (isRefused(run)) return run;
    if (conversation === begun) this.conversations.push(begun);
    conversation.words.push(word);
    this.#note(run, thread);
    this.#live ??= run;
    return run;
  }

  /** Its answer is complete and its program has ended; the second program of a round ends first. */
  end(run: Run): void {
    run.conversation.words.push(run.answer);
    this.#note(run, { ...run.thread, words: [...run.thread.words, run.answer] });
    this.#last = run.conversation;
    if (this.#live === run) this.#live = undefined;
  }

  /** The conversation that the step names or resumes; undefined for a new one. */
  #present({ program, way }: Step, resumed: Thread | undefined): Conversation | undefined {
    const last = this.#live?.conversation ?? this.#last;
    if (way === "new") return undefined;
    if (way === "resume") return resumed?.conversation;
    if (way === "continue") return last;
    const owner = way === "own" ? program : otherOf(program);
    const choices = this.conversations.filter(({ begunBy }) => begunBy === owner);
    return last?.begunBy === owner && this.#random.coin() ? last : this.#random.pick(choices);
  }

  #outcome({ program, way }: Step, present: Conversation | undefined): Outcome {
    if (way === "new") return "begins";
    if (present === undefined) throw new Error(`no conversation for ${nameOf({ program, way })}`);
    if (present !== this.#live?.conversation) return "continues";
    if (way !== "resume") return "refused";
    return program === "codex" && this.#live.step.program === "codex" ? "program-refuses" : "copies";
  }

  /** The finished turns of the live conversation, then what the program itself has of the live one. */
  #copied(resumed: Thread | undefined): string[] {
    const finished = this.#live?.words.slice(0, -1) ?? [];
    return [...finished, ...(resumed?.words.filter((word) => !finished.includes(word)) ?? [])];
  }

  /** Of two threads of one program that of the first is the newest one, since it ends last. */
  #note({ step: { program }, word }: Run, thread: Thread): void {
    const live = this.#live;
    if (live === undefined || live.word === word || live.step.program !== program)
      this.#threads.set(program, thread);
  }
}

export function isRefused({ outcome }: Run): boolean {
  return outcome === "refused" || outcome === "program-refuses";
}
