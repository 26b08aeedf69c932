import { AIDER, CLINE, CURSOR, OPENCLAW, ROO, ZED } from "./other-agents.ts";
import type { Program } from "./program.ts";
import { CLAUDE_CODE, CODEX, COPILOT, DROID, GEMINI, GOOSE, OPENCODE, PI, QWEN } from "./terminal-agents.ts";

/** Programs whose conversations are kept. */
export const PROGRAMS: readonly Program[] = [
  CLAUDE_CODE,
  CODEX,
  OPENCODE,
  PI,
  GEMINI,
  QWEN,
  COPILOT,
  GOOSE,
  DROID,
  CLINE,
  ROO,
  OPENCLAW,
  AIDER,
  ZED,
  CURSOR,
];
