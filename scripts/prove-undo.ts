/** Claims about checkpoints of files, as those of `prove-lines.ts`. */
import { tests, type Proof } from "./proof.ts";

export const UNDO: Readonly<Record<string, Proof>> = {
  "undo.1": {
    claim:
      "Random scripts of edits between two checkpoints of the command, 1,000: a restore equals the tree byte for byte, and keeps and names what the user changed since. Turns of our own loop, of the real Codex and of the real Claude Code are undone and done again with their files.",
    steps: [
      tests("scripts of edits", "test/checkpoints/restore.test"),
      tests("turns of our own loop", "test/turn/undo"),
      tests("turns of Codex", "test/real/codex/undo"),
      tests("turns of Claude Code", "test/real/claude/undo"),
    ],
  },
  "undo.2": {
    claim:
      "A restore that is killed at a random moment, 300 times, is finished by the next command, which says so.",
    steps: [tests("kills", "test/checkpoints/restore-kills")],
  },
  "undo.4": {
    claim:
      "In tmux: a turn's changes are seen, undone and done again, and rewound by choice, in at most three actions each.",
    steps: [tests("in the terminal", "test/real/cli/undo-tmux"), tests("the commands", "test/turn/undo")],
  },
};
