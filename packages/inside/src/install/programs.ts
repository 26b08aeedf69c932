/** All programs that have an adapter. */
import { CLAUDE_CODE } from "./claude-code-install.ts";
import { OPENCLAW } from "./openclaw-install.ts";
import { OPENCODE } from "./opencode-install.ts";
import { PI } from "./pi-install.ts";
import type { ProgramInstall } from "./program-install.ts";

export const INSIDE_PROGRAMS: readonly ProgramInstall[] = [CLAUDE_CODE, OPENCODE, PI, OPENCLAW];
