import type { AgentMessage } from "../message.ts";
/** Text in the passages cannot close the block: it is escaped (`quoted`). */
export declare function renderRecall(passages: string): string;
/** True for a text made by `renderRecall`. */
export declare function isRecallBlock(text: string): boolean;
/** The newest passages that an engine has added to a context; empty for none. */
export declare function recallIn(messages: readonly AgentMessage[]): string;
