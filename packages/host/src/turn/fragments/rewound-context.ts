import type { AdditionalContext } from "@pagurus/contract/fragment";
import { REWOUND_ENTRY, type RewoundNote } from "@pagurus/contract/host/checkpoints";
import type { ContextSlice } from "@pagurus/contract/session/writer";

/** Context of the next input: which files rewinds have changed since the last message. */
export function rewoundContext({ notes = [] }: Pick<ContextSlice, "notes">): AdditionalContext {
  const context: AdditionalContext = {};
  for (const { customType, data, nextEntryId, entryId } of notes) {
    if (customType !== REWOUND_ENTRY || nextEntryId !== undefined) continue;
    const { files, count } = (data ?? {}) as Partial<RewoundNote>;
    if (!Array.isArray(files) || files.length === 0) continue;
    const more = (count ?? 0) - files.length;
    const names = [...files, ...(more > 0 ? [`and ${more} more`] : [])].join(", ");
    const value = `The user has changed these files back to an earlier state: ${names}. Parts of the work after that state are undone. What you read of these files before may be out of date; read them again before you use it.`;
    context[`files_rewound_${entryId}`] = { kind: "application", value };
  }
  return context;
}
