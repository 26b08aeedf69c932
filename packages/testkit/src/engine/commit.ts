/** Builds `commitTurn`'s parameters from a transcript. */
import type { CommitTurnParams, TranscriptEntryAnchor } from "@pagurus/contract/engine/engine-params";
import type { SessionTarget } from "@pagurus/contract/engine/runtime-context";
import type { StageTranscript } from "./scripted-transcript.ts";

export function commitParams(
  transcript: StageTranscript,
  target: SessionTarget,
  turnId: string,
  isHeartbeat: boolean,
): Omit<CommitTurnParams, "sessionId"> {
  const path = transcript.entries.filter((entry) => entry.type === "message");
  const own = path.filter((entry) => entry.turnId === turnId);
  const anchor = (entryId: string): TranscriptEntryAnchor => {
    const position = path.findIndex((entry) => entry.id === entryId);
    return {
      ...target,
      generation: "1",
      entryId,
      rawSeq: transcript.entries.findIndex((entry) => entry.id === entryId) + 1,
      effectiveParentId: path[position - 1]?.id ?? null,
      activeMessagePosition: position,
      idempotencyKey: turnId,
    };
  };
  return {
    advancementKey: turnId,
    admission: {
      ...anchor(own[0]?.id ?? ""),
      logicalTurnId: turnId,
      role: "user",
    },
    terminal: anchor(own.at(-1)?.id ?? ""),
    messages: transcript.turnMessages(turnId),
    sessionTarget: target,
    isHeartbeat,
  };
}
