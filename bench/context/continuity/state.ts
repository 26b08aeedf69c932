/** What is true of a scripted job at a call, whatever a context says of it. */

export type FileState = "seen" | "changed" | "gone";

/** A command that acts on the world, retried or not: how it stands. */
export interface Effect {
  /** In the command and in its result, and nowhere else. */
  mark: string;
  outcome: "done" | "failed";
}

export interface Step {
  /** In the plan, in the calls of the step, and nowhere else. */
  mark: string;
  /** The plan's words, the mark among them. */
  text: string;
}

/** What is true before a call; the words of it are the messages' own. */
export interface JobState {
  /** Everything the user has said so far, corrections among it. */
  userTexts: readonly string[];
  corrections: readonly string[];
  /** Sentences of longer messages that bind all later work. */
  constraints: readonly string[];
  files: ReadonlyMap<string, FileState>;
  /** The plan's step that is being worked on. */
  openStep: Step | undefined;
  /** Marks of steps that are done. */
  finishedSteps: readonly string[];
  /** What the agent did to the world since the user last spoke. */
  effects: readonly Effect[];
  /** Mark of the command that an abort cut off, while the turn after the abort goes on with its work. */
  aborted: string | undefined;
}
