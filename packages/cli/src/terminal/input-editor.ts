/** The input: many lines, history, completion, and the keys of the conversation. */
import { Editor, matchesKey, type KeyId, type TUI } from "@earendil-works/pi-tui";
import type { Theme } from "./theme.ts";

/** Actions of keys that do not edit. Each returns false to let the editor have the key. */
export type KeyActions = Readonly<Partial<Record<KeyId, () => boolean>>>;

/** A paste as the terminal marks it. */
const PASTE = /^\u001b\[200~([^]*)\u001b\[201~$/;

export class InputEditor extends Editor {
  readonly #actions: KeyActions;
  /** Time of the newest key that edits, ms: a question that opens while the person types does not take the keys. */
  lastKeyAt = -Infinity;

  constructor(tui: TUI, theme: Theme, actions: KeyActions) {
    super(tui, theme.editor, { paddingX: 1, autocompleteMaxVisible: 8 });
    this.#actions = actions;
  }

  /** Takes a paste; returns the text to insert in its place, or undefined to insert it as it is. */
  onPaste: ((text: string) => string | undefined) | undefined;

  override handleInput(data: string): void {
    const pasted = PASTE.exec(data)?.[1];
    const other = pasted === undefined ? undefined : this.onPaste?.(pasted);
    if (other !== undefined) return this.insertTextAtCursor(other);
    for (const [key, act] of Object.entries(this.#actions))
      if (act && matchesKey(data, key as KeyId) && act()) return;
    this.lastKeyAt = performance.now();
    super.handleInput(data);
  }
}
