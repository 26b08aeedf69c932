/** Claims about the archive of what other programs write, as those of `prove-lines.ts`. */
import { bench, tests, type Proof } from "./proof.ts";

export const KEEP: Readonly<Record<string, Proof>> = {
  "keep.1": {
    claim:
      "Public files of twelve programs and databases of two are kept byte for byte, and every string of words in them is found again; PAGURUS_KEEPER_HOMES names further homes.",
    steps: [
      tests("public files", "test/keeper/public-files"),
      tests("formats, side files, rewritten and compressed rollouts", "test/keeper/words"),
    ],
  },
  "keep.2": {
    claim:
      "Kills of the keeper (2,000), truncations, rewrites, deletions, renames, half-written lines: 0 words lost, 0 doubled; each loss at the source is reported within 10 s by the keeper that runs; a rewrite of a large file in place keeps every answer.",
    steps: [
      tests("kills and losses", "test/keeper/kills"),
      tests("files one by one, databases in use, links, damage", "test/keeper/keep-file"),
      tests("commands", "test/keeper/keep-commands"),
    ],
  },
  "keep.3": {
    claim:
      "20,000 conversations, 5 GB: the first look, what is used when idle, a new line until it is found, the search, the size of the archive.",
    steps: [bench("keep")],
  },
  "keep.4": {
    claim:
      "A conversation of 200 turns with tools, a compaction and images: each pair of Claude Code, Codex, OpenCode and pi. The real program resumes the session that is written for it, and sends every word, call, result and image of its context once.",
    steps: [
      tests("readers and writers", "test/keeper/continued"),
      tests("the real programs", "test/real/keeper/continued"),
    ],
  },
  "keep.5": {
    claim:
      "What stops a session of Claude Code or Codex is named and replaced, each by itself; the original stays. More than twenty kinds that the real programs cannot resume, against endpoints with the providers' rules: after the rescue each opens and every other word is sent once.",
    steps: [
      tests("findings", "test/keeper/rescue"),
      tests("several at once in the real Claude Code", "test/real/keeper/rescue"),
      tests("each kind in the real programs", "test/real/keeper/stuck"),
    ],
  },
};
