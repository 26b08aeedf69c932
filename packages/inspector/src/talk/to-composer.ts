/** A message of another part of the page to the input of the conversation that is shown: words to write, or a choice for its turns. */
import { signal } from "@preact/signals";
import type { Chosen } from "./turn-choices.tsx";

export type ForComposer = { text: string } | { choose: Chosen };

/** Taken by the input, which sets it back to undefined. */
export const forComposer = signal<ForComposer | undefined>(undefined);
