/** A worker that colours code, so that the page scrolls meanwhile. */
import { highlightedCode, type CodePiece } from "@pagurus/core/highlight/highlighted-code";

export interface Asked {
  id: number;
  code: string;
  language: string;
}

export interface Coloured {
  id: number;
  /** Absent for a language without colours. */
  pieces?: CodePiece[] | undefined;
}

addEventListener("message", ({ data: { id, code, language } }: MessageEvent<Asked>) => {
  const answer: Coloured = { id, pieces: highlightedCode(code, language) };
  postMessage(answer);
});
