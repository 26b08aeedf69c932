/** Claims about recall and replayed contexts, as those of `prove-lines.ts`. */
import { bench, tests, type Proof } from "./proof.ts";

export const RECALL: Record<string, Proof> = {
  "recall.1": {
    claim:
      "On conversations 1.5 times as long as the budget a preview with the encoder holds two points more evidence than each baseline (PAGURUS_BENCH_LOCOMO and PAGURUS_BENCH_REALTALK name their places).",
    steps: [bench("context", "conversations")],
  },
  "recall.2": {
    claim:
      "On long conversations a search within 8k and by three calls finds two points more than each baseline (places as for recall.1).",
    steps: [bench("context", "conversations")],
  },
  "recall.3": {
    claim: "Coding sessions lose nothing: evidence by a search, cost, cache, far strings in sight.",
    steps: [bench("context", "recall"), bench("context", "replay")],
  },
  "recall.4": {
    claim:
      "After many compactions by extracts, facts of the user and of tool results are in the context or found by one call.",
    steps: [bench("context", "facts")],
  },
  "recall.5": {
    claim:
      "Recall for a turn costs at most 2 % of a coding replay and 15 % of a replay of dialogues, and little time in long sessions.",
    steps: [bench("context", "recall-cost"), bench("lossless", "recall-time")],
  },
  "recall.6": {
    claim:
      "Of facts that were corrected the newer one comes first; what was never mentioned gets no recalled passages.",
    steps: [
      tests("corrections", "test/engines/lossless/store/corrections.test.ts"),
      tests("recall for a turn", "test/engines/lossless/turn-recall.test.ts"),
    ],
  },
  "recall.7": {
    claim:
      "Of six questions in a row the last one has as much evidence in its request as the first, at windows of 16k to 200k, more than each baseline in as many tokens, for at most twice the cost (places as for recall.1).",
    steps: [tests("the measure itself", "test/bench/context/in-a-row.test.ts"), bench("context", "in-a-row")],
  },
  "recall.8": {
    claim: "A larger budget never shows less evidence for a question, from 2,000 to 200,000 tokens.",
    steps: [tests("larger budgets", "test/engines/lossless/larger-budget.test.ts")],
  },
  "recall.9": {
    claim:
      "In six of eight scripts at least 95 % of the questions about what was stated get recalled passages, and at most 5 % of those about what was never mentioned (articles: PAGURUS_BENCH_XQUAD and PAGURUS_BENCH_JSQUAD).",
    steps: [
      tests("the set, and one script", "test/bench/context/blocks.test.ts"),
      bench("context", "blocks"),
    ],
  },
  "recall.10": {
    claim:
      "Rules that hold until they are taken back are in sight at 8k and above, those that were taken back are not in force, in forms of many languages and in recorded sessions.",
    steps: [
      tests("sentences", "test/compaction/lasting-rules.test.ts"),
      tests("heads", "test/engines/lossless/lasting-rules.test.ts"),
      tests("the measure itself", "test/bench/context/rules.test.ts"),
      bench("context", "rules"),
    ],
  },
  "recall.11": {
    claim:
      "After five compactions all decisions of a session and 95 % of its commands, paths, error lines and numbers are in the context or found by one call; strings of the next tool call are there 5 points more often than in a sliding window and with the engine legacy.",
    steps: [tests("generated sessions", "test/replay/survival.test.ts"), bench("context", "survival")],
  },
  "recall.13": {
    claim:
      "`context replay` measures sessions of several programs with any engine, without a model and in a home that is only read; 100 MB take at most 60 s.",
    steps: [
      tests("the command and its parts", "test/replay/", "test/cli/context-replay.process.test.ts"),
      bench("context", "replay-command"),
    ],
  },
};
