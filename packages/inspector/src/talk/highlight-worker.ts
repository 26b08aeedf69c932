/** A worker that colours code, so that the page scrolls meanwhile. */
import { highlighted, type Piece } from "./highlight.ts";

export interface Asked {
  id: number;
  code: string;
  language: string;
}

export interface Coloured {
  id: number;
  /** Absent for a language without colours. */
  pieces?: Piece[] | undefined;
}

addEventListener("message", ({ data: { id, code, language } }: MessageEvent<Asked>) => {
  const answer: Coloured = { id, pieces: highlighted(code, language) };
  postMessage(answer);
});
