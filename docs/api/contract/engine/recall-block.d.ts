/** Text in the passages cannot close the block: it is escaped (`quoted`). */
export declare function renderRecall(passages: string): string;
/** True for a text made by `renderRecall`. */
export declare function isRecallBlock(text: string): boolean;
