/** A list in place of the input, filtered by what is typed. */
import {
  fuzzyFilter,
  matchesKey,
  SelectList,
  truncateToWidth,
  type SelectItem,
} from "@earendil-works/pi-tui";
import { InputPanel } from "./input-panel.ts";
import type { Theme } from "./theme.ts";

const MOST_ROWS = 12;

interface PickerOptions {
  theme: Theme;
  rows(): number;
  done(item: SelectItem | undefined): void;
  selected?: string | undefined;
}

export class Picker extends InputPanel {
  readonly #title: string;
  readonly #theme: Theme;
  readonly #items: readonly SelectItem[];
  readonly #rows: () => number;
  readonly #done: (item: SelectItem | undefined) => void;
  #list: SelectList;

  /**
   * `items`: the best first. `done`: undefined when the person leaves the list. `rows`: height of the terminal. `selected`: value of
   * the item that is selected at first.
   */
  constructor(title: string, items: readonly SelectItem[], { theme, rows, done, selected }: PickerOptions) {
    super();
    this.#title = title;
    this.#theme = theme;
    this.#items = items;
    this.#rows = rows;
    this.#done = done;
    this.#list = this.#listed(items);
    const at = items.findIndex(({ value }) => value === selected);
    if (at > 0) this.#list.setSelectedIndex(at);
  }

  override invalidate(): void {
    super.invalidate();
    this.#list.invalidate();
  }

  #listed(items: readonly SelectItem[]): SelectList {
    const most = Math.max(3, Math.min(MOST_ROWS, this.#rows() - 8));
    return new SelectList([...items], most, this.#theme.list, { maxPrimaryColumnWidth: 60 });
  }

  handleInput(data: string): void {
    if (matchesKey(data, "escape") || matchesKey(data, "ctrl+c")) return this.#done(undefined);
    if (matchesKey(data, "enter")) return this.#done(this.#list.getSelectedItem() ?? undefined);
    if (["up", "down", "pageUp", "pageDown"].some((key) => matchesKey(data, key as "up")))
      return this.#list.handleInput(data);
    const before = this.input.getValue();
    this.input.handleInput(data);
    const typed = this.input.getValue();
    if (typed === before) return undefined;
    const words = (item: SelectItem): string => `${item.label} ${item.description ?? ""}`;
    this.#list = this.#listed(
      typed.trim() === "" ? this.#items : fuzzyFilter([...this.#items], typed, words),
    );
    return undefined;
  }

  render(width: number): readonly string[] {
    const { dim, bold } = this.#theme;
    return [
      dim("─".repeat(width)),
      truncateToWidth(`${bold(this.#title)} ${dim("type to filter · Enter takes · Esc leaves")}`, width, "…"),
      ...this.input.render(width),
      ...this.#list.render(width),
    ];
  }
}
