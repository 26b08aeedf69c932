import { setImmediate } from "node:timers/promises";
import { PagurusError } from "@pagurus/contract/errors";
import { engineEntryType } from "@pagurus/contract/session/engine-entry";
import type {
  CompactionEntry,
  CustomEntry,
  TranscriptCursor,
  TranscriptEntry,
} from "@pagurus/contract/session/transcript";
import { clip } from "./transcript-tree.ts";
import type { Place, PlacedEntry, SessionView } from "./session-view.ts";

/** Bytes of lines after which a walk yields to other work of the process. */
const SLICE_BYTES = 256 * 1024;

/**
 * A cursor over the active path as it is when a walk starts. Walks throw `entry_not_found` for an id that is not on the path, and
 * `store_read_failed` once the session is closed.
 */
export function openCursor(view: SessionView): TranscriptCursor {
  const placeOnPath = (id: string): Place => {
    const place = view.find(id);
    if (place && view.tree.onPath(place.offset)) return place;
    throw entryNotFound(view.sessionId, id);
  };
  return {
    forward: (afterId) =>
      inSlices(() => {
        const after = afterId === undefined ? undefined : placeOnPath(afterId);
        const from = after ? after.offset + after.length : 0;
        return view.forward(clip(view.tree.path(), from));
      }),
    backward: (beforeId) =>
      inSlices(() => {
        const before = beforeId === undefined ? undefined : placeOnPath(beforeId);
        return view.backward(clip(view.tree.path(), 0, before?.offset));
      }),
    get: async (id) => view.get(id),
    ofEngine: (engineId) =>
      ofEngine(
        inSlices(() => view.engineEntries()),
        engineEntryType(engineId),
      ),
  };
}

async function* ofEngine(
  entries: AsyncIterable<TranscriptEntry>,
  customType: string,
): AsyncGenerator<CustomEntry | CompactionEntry> {
  for await (const entry of entries) {
    if (entry.type === "compaction") yield entry;
    else if (entry.type === "custom" && entry.customType === customType) yield entry;
  }
}

export function entryNotFound(sessionId: string, id: string): PagurusError {
  return new PagurusError(
    "entry_not_found",
    `The session ${sessionId} has no entry ${id} on the branch that was asked for; \`pagurus sessions show\` lists its entries.`,
    { details: { sessionId, entryId: id } },
  );
}

async function* inSlices(start: () => Iterable<PlacedEntry>): AsyncGenerator<TranscriptEntry> {
  let bytes = 0;
  for (const { entry, length } of start()) {
    yield entry;
    bytes += length;
    if (bytes < SLICE_BYTES) continue;
    bytes = 0;
    await setImmediate();
  }
}
