/** Additional context of one turn: which of it is injected when, and its transcript entries. */
import {
  FRAGMENT_ENTRY,
  FRAGMENT_SET_ENTRY,
  type AdditionalContext,
  type Fragment,
  type FragmentNote,
} from "@pagurus/contract/fragment";
import type { AgentMessage } from "@pagurus/contract/message";
import type { ContextSlice, SessionWriter } from "@pagurus/contract/session/writer";
import { contextEntries, mergeContext, type ContextEntries, type Merged } from "./merge.ts";
import { currentSet, fragmentsOf, isFragment } from "./fragment-place.ts";
import { fragmentText } from "./render.ts";
import { defined } from "@pagurus/core/data/defined";

interface Options {
  /** Absent: the entries belong to no turn and are final at once. */
  turnId?: string;
  /** Called for each entry: a compaction may rotate the session. */
  writer(): Pick<SessionWriter, "append">;
  slice(): ContextSlice;
}

type With = Fragment["with"];

export class TurnFragments {
  /** In the order of injection. */
  readonly injected: Fragment[] = [];
  readonly #options: Options;
  /** The current set. */
  #entries: ContextEntries = [];

  constructor(options: Options) {
    this.#options = options;
  }

  /**
   * Takes the complete set of a turn or of a steering text and records the part that the model has to see: each before the message that is
   * written next. Throws `usage_invalid`, and what the writer throws.
   */
  merge(input: AdditionalContext | null | undefined, how: With): void {
    this.#entries = contextEntries(input);
    const slice = this.#options.slice();
    const merged = mergeSlice(slice, this.#entries);
    this.#write(merged, { how, place: "next" });
  }

  /**
   * Injects again, before the turn's input, current fragments that the context about to be sent no longer has: a compaction cut their
   * place. True when something was written. Throws what the writer throws.
   */
  settle(sent: readonly AgentMessage[]): boolean {
    if (this.#entries.length === 0) return false;
    const slice = this.#options.slice();
    const seen = new Set(sent.filter(isFragment).map(({ entryId }) => entryId));
    const merged = mergeSlice(slice, this.#entries, (entryId) => seen.has(entryId));
    this.#write(merged, { how: "input", place: "input" });
    return merged.inject.length > 0;
  }

  #write(
    { inject, current, changed }: Merged,
    { how, place }: { how: With; place: FragmentNote["place"] },
  ): void {
    const { turnId, writer } = this.#options;
    const base = { type: "custom" as const, ...defined({ turnId }) };
    for (const { key, entry, mark } of inject) {
      const { kind } = entry;
      const text = fragmentText(key, entry);
      const data: FragmentNote = { key, kind, mark, text, place };
      const { id } = writer().append({ ...base, customType: FRAGMENT_ENTRY, data });
      const role = kind === "untrusted" ? "user" : "developer";
      this.injected.push({ key, kind, role, text, entryId: id, with: how });
    }
    // Written after its fragments: a set that is in reach has its fragments in reach.
    if (changed || inject.length > 0)
      writer().append({ ...base, customType: FRAGMENT_SET_ENTRY, data: { current: [...current] } });
  }
}

/** Merges a set with what a slice of the session records; `isSeen` is called with the entry of each fragment. */
export function mergeSlice(
  slice: ContextSlice,
  input: ContextEntries,
  isSeen: (entryId: string) => boolean = () => true,
): Merged {
  const seen = fragmentsOf(slice).filter(({ entryId, before }) => before !== undefined && isSeen(entryId));
  return mergeContext(currentSet(slice), input, (key, mark) =>
    seen.some(({ note }) => note.key === key && note.mark === mark),
  );
}
