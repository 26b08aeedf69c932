/** Claims about the engine in other programs, as those of `prove-lines.ts`. */
import { tests, type Proof } from "./proof.ts";

export const INSIDE: Readonly<Record<string, Proof>> = {
  "inside.7": {
    claim:
      "Any MCP client searches the kept conversations to their exact words; no word crosses the wall of a folder or of a token.",
    steps: [
      tests("the real Claude Code, Codex and OpenCode", "test/real/mcp/memory-clients"),
      tests("walls, pages, both transports", "test/mcp/memory"),
    ],
  },
};
