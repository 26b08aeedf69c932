/** Claims about checkpoints of files, as those of `prove-lines.ts`. */
import { tests, type Proof } from "./proof.ts";

export const UNDO: Readonly<Record<string, Proof>> = {
  "undo.1": {
    claim:
      "Random scripts of edits between two checkpoints of the command, 1,000: a restore equals the tree byte for byte, and keeps and names what the user changed since. No turn makes checkpoints so far.",
    steps: [tests("scripts of edits", "test/checkpoints/restore.test")],
  },
  "undo.2": {
    claim:
      "A restore that is killed at a random moment, 300 times, is finished by the next command, which says so.",
    steps: [tests("kills", "test/checkpoints/restore-kills")],
  },
};
