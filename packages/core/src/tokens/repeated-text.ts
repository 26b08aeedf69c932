import { keepingRecent } from "../data/recent-texts.ts";
import { estimateTokens } from "./estimate.ts";

/** System prompts and catalogs of tools of a few agents. */
const MOST_TEXTS = 16;

/** As `estimateTokens`, for texts that most requests repeat: the system prompt and the catalog of tools. The same text is weighed once. */
export const repeatedTextTokens = keepingRecent(estimateTokens, MOST_TEXTS);
