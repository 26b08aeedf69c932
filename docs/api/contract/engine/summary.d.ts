export declare function renderSummary(summary: string): string;
/** The summary inside a text made by `renderSummary`; undefined for any other text. */
export declare function readSummary(text: string): string | undefined;
