/** The true state of a scripted job at a call, whatever a context states. */

export type FileState = "seen" | "changed" | "gone";

/** A command with a side effect, retried or not, and its outcome. */
export interface Effect {
  /** In the command and in its result, and nowhere else. */
  mark: string;
  outcome: "done" | "failed";
}

export interface Step {
  /** In the plan, in the calls of the step, and nowhere else. */
  mark: string;
  /** The plan's text, including the mark. */
  text: string;
}

/** The state before a call; its texts are the messages' own. */
export interface JobState {
  /** All messages of the user so far, corrections included. */
  userTexts: readonly string[];
  corrections: readonly string[];
  /** Sentences of longer messages that bind all later work. */
  constraints: readonly string[];
  files: ReadonlyMap<string, FileState>;
  /** The plan's step that is being worked on. */
  openStep: Step | undefined;
  /** Marks of steps that are done. */
  finishedSteps: readonly string[];
  /** Side effects since the user's last message. */
  effects: readonly Effect[];
  /** Mark of the command that an abort cut off, while the turn after the abort continues its work. */
  aborted: string | undefined;
}
