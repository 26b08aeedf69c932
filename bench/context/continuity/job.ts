/**
 * Long scripted jobs of an agent, from a seed: plans of the user, steps that read, write, rename and delete files and have
 * side effects, commands that fail and are retried, corrections in the middle, turns that the user aborts. The required
 * content of a context is known at every call.
 */
import { NOUNS, Script, type Job } from "./script.ts";
import type { Step } from "./state.ts";

const ROUNDS = 14;
/** The turn after an abort has more steps, so that the aborted part leaves the newest messages. */
const ROUNDS_AFTER_ABORT = 18;
const STEPS = 4;
/** One in so many turns, counted from the first, is aborted in its last step. */
const ABORT_EVERY = 3;
/** The round before which a step's correction comes, and the one in which a turn is aborted. */
const CORRECTION_AT = 6;
const ABORT_AT = 8;

const CORRECTIONS = [
  "No, not like that: use MARK for the names from now on, also in what is written already.",
  "Stop using the old client. Only MARK may talk to the network.",
  "I was wrong about the limit, it is MARK and nothing else.",
  "Do not touch anything under MARK, another team works there.",
];
const REMARKS = ["ok, go on", "looks good so far", "I am back in ten minutes"];
const COMMANDS = ["git push origin", "npm publish", "kubectl apply -f", "send-mail"];

export interface JobOptions {
  seed: number;
  /** Plans of the user; one in three is aborted and takes two turns. */
  turns: number;
  /** Characters of text that the user pastes after each request, so that the user's messages exceed their share. */
  pasted?: number;
  /** Files of the project, at most so many hundreds; default 2, so that work returns to them. */
  hundreds?: number;
}

/** A kind of action of an agent in a step. */
function doSomething(script: Script, step: Step, paths: readonly string[]): void {
  const path = script.pick(paths);
  const kind = script.below(16);
  if (kind < 4) script.reads(path);
  else if (kind < 7) script.writes(path, `Working on ${step.mark}`);
  else if (kind < 9) actSomehow(script);
  else if (kind === 9) script.deletes(path);
  else if (kind === 10) script.renames(path, script.path());
  else if (kind < 13) script.worksInParallel(paths, path);
  else if (kind === 13 && script.has(path)) script.failsToEdit(path);
  else if (kind === 14 && script.has(path)) script.failsToDelete(path);
  else {
    const act = { name: "shell", args: { command: "npm test" }, result: script.output() };
    script.round("Tests.", [{ ...act, isError: script.below(2) === 0 }]);
  }
}

/** Half of the commands succeed at once, others at the second or third try, some never. */
function actSomehow(script: Script): void {
  const mark = script.mark("act");
  const kind = script.below(6);
  if (kind === 0) script.acts(script.pick(COMMANDS), mark, 2, "failed");
  else script.acts(script.pick(COMMANDS), mark, Math.max(0, kind - 3));
}

/** `from` and `to` are rounds: an aborted step continues in the next turn. */
function work(script: Script, step: Step, options: { from: number; to: number; correction?: string }): void {
  const paths = Array.from({ length: 4 }, () => script.path());
  for (let round = options.from; round < options.to; round++) {
    if (options.correction !== undefined && round === CORRECTION_AT) script.corrects(options.correction);
    else if (script.below(24) === 0) script.adds(script.pick(REMARKS));
    doSomething(script, step, paths);
  }
}

function wholeStep(script: Script, step: Step, isAborted: boolean): void {
  // Two of three steps have a correction.
  const wanted = script.below(3) > 0;
  const correction = wanted ? script.pick(CORRECTIONS).replace("MARK", script.mark("rule")) : undefined;
  const options = correction === undefined ? {} : { correction };
  script.begins(step);
  work(script, step, { from: 0, to: isAborted ? ABORT_AT : ROUNDS, ...options });
  if (isAborted) {
    script.aborts("deploy", script.mark("deploy"));
    script.says("I had to stop you there. Look at what is open, and go on with it.");
    work(script, step, { from: ABORT_AT, to: ABORT_AT + ROUNDS_AFTER_ABORT });
  }
  script.acts("deploy", script.mark("deploy"), script.below(2));
  script.finishes(step);
}

function plan(script: Script, pasted: number): Step[] {
  const steps = Array.from({ length: STEPS }, (): Step => {
    const mark = script.mark("step");
    return { mark, text: `${mark}: rework the ${script.pick(NOUNS)} of ${script.pick(NOUNS)}s` };
  });
  const constraint = `Whatever you do, never change the format of ${script.mark("format")}.`;
  const list = steps.map(({ text }) => `- ${text}`).join("\n");
  const paste = pasted === 0 ? "" : `\n\nThis is what I have:\n${script.output().slice(0, pasted)}`;
  script.says(`Please do these things one after the other:\n${list}\n\n${constraint}${paste}`, [constraint]);
  return steps;
}

/** About 70 calls and 60,000 tokens a plan. */
export function scriptedJob({ seed, turns, pasted = 0, hundreds = 2 }: JobOptions): Job {
  const script = new Script(seed, hundreds);
  for (let turn = 0; turn < turns; turn++) {
    const steps = plan(script, pasted);
    for (const step of steps) {
      const isLast = step === steps.at(-1);
      wholeStep(script, step, isLast && turn % ABORT_EVERY === ABORT_EVERY - 1);
    }
    script.answers(`All ${STEPS} steps are done: ${steps.map(({ mark }) => mark).join(", ")}.`);
  }
  return script.job(`job ${seed}`);
}
