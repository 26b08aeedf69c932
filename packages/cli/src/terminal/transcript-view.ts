/** The whole conversation in the terminal's alternate screen: scroll, search, nothing folded. */
import {
  matchesKey,
  ProcessTerminal,
  ScrollView,
  Text,
  TuiAltScreen,
  VStack,
  type Component,
} from "@earendil-works/pi-tui";
import type { Theme } from "./theme.ts";
import type { Block } from "./transcript.ts";

class WholeBlocks implements Component {
  readonly #blocks: readonly Block[];
  #width = 0;
  #lines: readonly string[] = [];

  constructor(blocks: readonly Block[]) {
    this.#blocks = blocks;
  }

  invalidate(): void {
    this.#width = 0;
  }

  render(width: number): readonly string[] {
    if (this.#width !== width)
      this.#lines = this.#blocks.flatMap((block) => [...(block.whole?.(width) ?? block.render(width))]);
    this.#width = width;
    return this.#lines;
  }
}

const LEAVING = ["escape", "ctrl+c", "ctrl+o", "ctrl+d"] as const;
const KEYS = "↑ ↓ PgUp PgDn Ctrl-Home Ctrl-End scroll · Ctrl-F searches · q or Esc leaves";

/** Resolves when the person leaves the view. The other screen is stopped meanwhile. */
export function viewTranscript(blocks: readonly Block[], theme: Theme): Promise<void> {
  const scroll = new ScrollView(new WholeBlocks(blocks), { follow: "end", primary: true });
  const screen = new TuiAltScreen(new ProcessTerminal());
  screen.setLayoutRoot(
    new VStack([
      { component: scroll, basis: 0, grow: 1, minSize: 1 },
      { component: new Text(theme.dim(KEYS), 0, 0), basis: "auto", shrink: 0, minSize: 1 },
    ]),
  );
  let isSearching = false;
  return new Promise((resolve) => {
    screen.addInputListener((data) => {
      const leaves = data === "q" || LEAVING.some((key) => matchesKey(data, key));
      if (!leaves || isSearching) {
        if (matchesKey(data, "ctrl+f")) isSearching = !isSearching;
        if (matchesKey(data, "escape")) isSearching = false;
        return undefined;
      }
      screen.stop({ preserveScreen: true });
      resolve();
      return { consume: true };
    });
    screen.start();
  });
}
