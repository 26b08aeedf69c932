/**
 * Compares a harness's declarations, which docs/runtimes.md and `pagurus runtimes list` show unchanged, with a run. Source:
 * agent runtimes, "Compatibility contract".
 */
import type { HostCapability } from "@pagurus/contract/engine/engine";
import type { RuntimeSurfaces } from "@pagurus/contract/harness/runtimes";
import { must, onlyIf, shown } from "../../conformance-check.ts";
import type { HarnessCheck } from "../harness-check.ts";
import { countIn, newest, seamOf } from "../harness-judge.ts";
import { success, TOOL, wordsOf, type HarnessStage } from "../harness-stage.ts";

const HEAD = "Known to the engine alone.";
const SUMMARY = "The engine's summary of it all.";
/** Lent by the host to every runtime; whether there is a model for it is unknown at declaration. */
const LENT: readonly HostCapability[] = ["runtime-llm-complete"];

/** Starts every context with the text, in an epoch named by it. */
function showsHead(made: HarnessStage, words: string, keeps = Infinity): void {
  made.engine.answer = ({ messages }) => ({
    messages: [{ role: "user", content: words }, ...messages.slice(-keeps)],
    contextProjection: { mode: "thread_bootstrap", epoch: words, fingerprint: words },
  });
}

/** Runs three turns and a compaction; returns the observed capabilities. */
async function shownCapabilities(made: HarnessStage): Promise<Record<HostCapability, boolean>> {
  await made.host("legacy");
  await made.ask("Before the engine came?");
  await made.restart();
  showsHead(made, HEAD);
  let sum: string | undefined;
  made.endpoint.script = ({ items }, index) => ({
    text: items.some(({ text }) => text.includes("Sum it up.")) ? "A short sum." : `Said ${index}.`,
  });
  made.engine.beforeAnswer = async ({ runtimeContext }) => {
    made.engine.beforeAnswer = () => Promise.resolve();
    const messages = [{ role: "user" as const, content: "Sum it up." }];
    sum = (await runtimeContext?.llm.complete({ messages }).catch(() => undefined))?.text;
  };
  const { text } = await made.ask("The second question?");
  const second = newest(made);
  await made.ask("The third question?");
  const third = newest(made);
  const members = made.engine.calls.map(({ member }) => member);
  made.engine.compaction = () => {
    showsHead(made, SUMMARY, 2);
    return { ok: true, compacted: true, result: { tokensBefore: 2_000, tokensAfter: 200 } };
  };
  await (await made.host()).compact({ cwd: made.cwd });
  await made.ask("The fourth question?");
  const [first] = made.engine.of("afterTurn");
  const isPrefix = second.items.every((item, at) => JSON.stringify(item) === JSON.stringify(third.items[at]));
  return {
    bootstrap: members[0] === "bootstrap",
    "assemble-before-prompt": countIn(second, HEAD) === 1,
    "after-turn": wordsOf(first?.messages.at(-1)) === text,
    maintain: members.lastIndexOf("maintain") > members.indexOf("afterTurn"),
    compact: made.engine.of("compact").length === 1 && countIn(newest(made), SUMMARY) === 1,
    "runtime-llm-complete": sum === "A short sum.",
    "thread-bootstrap-projection": countIn(third, HEAD) === 1 && isPrefix,
  };
}

/** Yes or no, if a table answer begins so. */
function verdict(answer: string): boolean | undefined {
  const [, word] = /^(yes|no)\b/i.exec(answer.trim()) ?? [];
  return word === undefined ? undefined : word.toLowerCase() === "yes";
}

/** Throws `Violation` unless a yes-or-no answer agrees with the observation. */
function mustAgree(surface: keyof RuntimeSurfaces, answer: string, seen: boolean, what: string): void {
  const declared = verdict(answer);
  const how = seen ? "did" : "did not";
  must(
    declared === undefined || declared === seen,
    `The harness declares ${surface} as ${shown(answer)}, and in the run ${what.replace("*", how)}.`,
  );
}

const TEXTS = [
  "modelLoop",
  "threadHistory",
  "hostTools",
  "hostToolHooks",
  "nativeToolHooks",
  "compactionData",
] as const satisfies readonly (keyof RuntimeSurfaces)[];

function mustBeAnswers(surfaces: RuntimeSurfaces): void {
  for (const name of TEXTS) {
    const answer: unknown = surfaces[name];
    must(
      typeof answer === "string" && answer.trim() !== "",
      `The surface ${name} is ${shown(answer)}, not words.`,
    );
  }
  const { unsupported } = surfaces;
  must(
    Array.isArray(unsupported) && unsupported.every((each) => typeof each === "string" && each.trim() !== ""),
    `What is unsupported is ${shown(unsupported)}, not a list of sentences.`,
  );
}

/** A turn whose model calls the suite's tool, with hooks that rewrite and watch the call, and one that is blocked. */
async function shownHooks(
  made: HarnessStage,
): Promise<{ offered: boolean; made: boolean; rewritten: boolean; looked: boolean; blocked: boolean }> {
  const words: unknown[] = [];
  made.tool = async ({ word }) => {
    words.push(word);
    return success("noted");
  };
  let looked = false;
  made.called = (name) => {
    looked ||= name === TOOL;
  };
  made.rewrite = (name) => (name === TOOL ? { word: "basalt" } : undefined);
  const calls = (id: string) => ({ toolCalls: [{ id, name: TOOL, arguments: { word: "amber" } }] });
  made.replies(calls("call_one"), { text: "It is noted." });
  await made.ask("Note it.");
  const offered = newest(made).tools.some(({ name }) => name === TOOL);
  const [word] = words;
  made.block = (name) => (name === TOOL ? "the book is closed" : undefined);
  made.replies(calls("call_two"), { text: "Not today." });
  await made.ask("Note it again.");
  return {
    offered,
    made: word !== undefined,
    rewritten: word === "basalt",
    looked,
    blocked: words.length < 2,
  };
}

export const declaredChecks: readonly HarnessCheck[] = [
  {
    id: "declared.seam",
    title:
      "The seam that is declared is that of a turn whose engine names an epoch, and the model sees it so.",
    async run({ stage }) {
      const made = await stage();
      const { seam } = await made.facts();
      showsHead(made, HEAD);
      made.replies({ text: "The first answer." });
      await made.ask("The first question?");
      // In another epoch the history is passed again, also to a runtime with its own thread.
      showsHead(made, SUMMARY);
      const shows = seamOf(await made.ask("The second question?"));
      must(
        shows === seam,
        `The harness declares the seam ${seam}, and its turn says that it ran in ${shows}.`,
      );
      const item = newest(made).items.find(({ text }) => text.includes("The first answer."));
      must(item, "The model did not see the first answer in the second turn.");
      const isMessage = item.role === "assistant";
      must(
        isMessage === (seam !== "projection"),
        `The harness declares the seam ${seam}, and the model saw an earlier answer with the role ${item.role}.`,
      );
    },
  },
  {
    id: "declared.capabilities",
    title: "The declared capabilities are those that a run shows: none missing, none extra.",
    async run({ stage }) {
      const made = await stage();
      const shows = await shownCapabilities(made);
      const { capabilities } = await made.facts();
      const all = Object.keys(shows) as HostCapability[];
      const lacking = all.filter((each) => capabilities.includes(each) && !shows[each]);
      const more = all.filter((each) => !capabilities.includes(each) && shows[each] && !LENT.includes(each));
      must(lacking.length === 0, `The harness declares ${lacking.join(", ")}, and the run does not show it.`);
      must(more.length === 0, `The run shows ${more.join(", ")}, and the harness does not declare it.`);
    },
  },
  {
    id: "declared.surfaces",
    title: "The declarations about tools, their hooks and the history match a run.",
    async run({ stage }) {
      const made = await stage();
      const { surfaces, seam } = await made.facts();
      onlyIf(surfaces, "The harness declares no surfaces.");
      mustBeAnswers(surfaces);
      const shows = await shownHooks(made);
      const { hostTools, hostToolHooks, threadHistory, modelLoop } = surfaces;
      const isCalled = shows.offered && shows.made;
      mustAgree("hostTools", hostTools, isCalled, `a tool of the host * reach the model and back`);
      if (isCalled) {
        mustAgree("hostToolHooks", hostToolHooks, shows.blocked, "before_tool_call * block a call");
        mustAgree("hostToolHooks", hostToolHooks, shows.rewritten, "before_tool_call * rewrite a call");
        mustAgree("hostToolHooks", hostToolHooks, shows.looked, "after_tool_call * see a call");
      }
      const bound = await made.boundTo();
      must(
        bound === undefined || !/^the host\b/i.test(threadHistory),
        `The harness declares threadHistory as ${shown(threadHistory)}, and binds a thread of its own to the session.`,
      );
      must(
        seam === "embedded" || !/^the host\b/i.test(modelLoop),
        `The harness declares modelLoop as ${shown(modelLoop)}, and the seam ${seam}: the host builds the model's calls in native alone.`,
      );
    },
  },
];
