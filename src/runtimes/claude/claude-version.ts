import { TRIED } from "../../data/tried-programs.ts";

/** The version whose stream and session file were measured, and that our tests run against. */
export const CLAUDE_VERSION: string = TRIED.claude.to;
