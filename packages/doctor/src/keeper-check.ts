/** Formats of other programs that have changed, as the keeper counts them. */
import { keeperPlace } from "@pagurus/keeper/keeper-place";
import { driftSentence } from "@pagurus/keeper/loss-words";
import { driftOf, versionLines } from "@pagurus/keeper/words/drift";
import type { Finding } from "./finding.ts";

/** Nothing where nothing is kept, or where all is understood. */
export function checkKeeper(home: string): Finding[] {
  return driftOf(versionLines(keeperPlace(home).folder)).map((drift) => ({
    level: "warn",
    check: "programs",
    detail: driftSentence(drift),
    fix: "Update Pagurus; what is kept is then read again.",
  }));
}
