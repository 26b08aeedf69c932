/** The layer over the page: the palette or its keys. */
import { signal } from "@preact/signals";

export type Opened = "palette" | "keys";

/** Undefined for nothing. */
export const opened = signal<Opened | undefined>(undefined);
