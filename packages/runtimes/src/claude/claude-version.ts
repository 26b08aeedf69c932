import { TRIED } from "@pagurus/core/data/tried-programs";

/** The version whose stream and session file were measured, and that our tests run against. */
export const CLAUDE_VERSION: string = TRIED.claude.to;
