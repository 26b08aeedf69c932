/** Result of the prepare stage. */
import type { AdditionalContext } from "@pagurus/contract/fragment";
import type { ImagePart, TextPart, UserMessage } from "@pagurus/contract/message";
import type { NarrowableTools } from "../context/narrowed-tools.ts";
import type { SystemPiece } from "../receipts/receipt-parts.ts";

export interface Prepared {
  tools: NarrowableTools;
  system: SystemPiece[];
  /** Lines of the memory section, for an engine that adds them itself. */
  memorySections: string[];
  /** Tokens of system prompt and tools, and whether they were measured at the harness. A later request may measure them again. */
  fixedTokens: number;
  isMeasured: boolean;
  /** Tokens for history and live turn. */
  tokenBudget: number;
  input: UserMessage & { content: (TextPart | ImagePart)[] };
  /** Additional context that names skills which the input is about. */
  skillHints: AdditionalContext;
}
