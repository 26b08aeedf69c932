/** Claims about the engine in other programs, as those of `prove-lines.ts`. */
import { bench, tests, type Proof } from "./proof.ts";

export const INSIDE: Readonly<Record<string, Proof>> = {
  "inside.1": {
    claim:
      "In the real Claude Code compactions (by the user, automatic, prepared ahead) are answered without a model request; kept messages are those that the program held, byte for byte; every request is valid; a new process resumes after each with no old history; with the host killed before, inside or after, the program's own compaction or ours is made, never none and never half. The full form has 60 turns and 6 compactions, as lines of `-p` and in a terminal.",
    steps: [
      tests("compactions, resumes, kills", "test/real/inside/claude-code"),
      tests("the same in a terminal", "test/real/inside/claude-terminal"),
      tests("cut points and lists", "test/inside/"),
    ],
  },
  "inside.2": {
    claim:
      "A large tool result is a stub for the model and one call gives its exact text; a session with such results sends at most 0.8 of the bytes.",
    steps: [tests("large results", "test/real/inside/results")],
  },
  "inside.4": {
    claim:
      "Installing and uninstalling leaves every file as it was, byte for byte, from two homes and with a user's own settings and skills; Claude Code's own check and test runner accept the mod.",
    steps: [tests("installation", "test/real/inside/install")],
  },
  "inside.5": {
    claim:
      "After five compactions in the real Claude Code the model has more of the decisions, commands, paths, error lines and numbers of a session with the engine than with the program's own summary or with stale results dropped: in its context, or by one call.",
    steps: [tests("what is left", "test/real/inside/fidelity")],
  },
  "inside.6": {
    claim:
      "What a prompt, a stored turn and a large result cost at the host's socket, and a turn of Claude Code with and without the mod, in pairs.",
    steps: [bench("inside")],
  },
  "inside.3": {
    claim:
      "The engine answers the real pi's compactions without a model request and writes the real OpenCode's summaries; both keep large results, and pi works alone where no host answers.",
    steps: [tests("pi", "test/real/inside/pi"), tests("OpenCode", "test/real/inside/opencode")],
  },
  "inside.7": {
    claim:
      "Any MCP client searches the kept conversations to their exact words; no word crosses the wall of a folder or of a token.",
    steps: [
      tests("the real Claude Code, Codex and OpenCode", "test/real/mcp/memory-clients"),
      tests("MCP's inspector", "test/real/mcp/inspector"),
      tests("walls, pages, both transports", "test/mcp/memory"),
    ],
  },
};
