/** Setup on a full terminal: a list with a key for each row. */
import {
  Input,
  matchesKey,
  ProcessTerminal,
  SelectList,
  Spacer,
  Text,
  truncateToWidth,
  TuiMainScreen,
  visibleWidth,
  type Component,
  type Focusable,
} from "@earendil-works/pi-tui";
import { hasColours, printLine, type Cli } from "../cli.ts";
import { CLEAR_LINE } from "../run/held-output.ts";
import { themeOf, type Theme } from "../terminal/theme.ts";
import type { FormRow, SetupForm } from "./setup-form.ts";
import { defined } from "@pagurus/core/data/defined";

/** Columns between a row and its detail, and at most up to it. */
const GAP = 3;
const MOST_COLUMNS = 60;

const LEAVES = ["escape", "ctrl+c", "ctrl+d"] as const;

function leaves(data: string): boolean {
  return LEAVES.some((key) => matchesKey(data, key));
}

class Menu implements Component {
  readonly #title: string;
  readonly #rows: readonly FormRow[];
  readonly #list: SelectList;
  readonly #theme: Theme;
  readonly #done: (index: number | undefined) => void;

  constructor(
    title: string,
    rows: readonly FormRow[],
    { theme, done }: { theme: Theme; done: (index: number | undefined) => void },
  ) {
    this.#title = title;
    this.#rows = rows;
    this.#theme = theme;
    this.#done = done;
    const items = rows.map(({ key, label, detail }, index) => ({
      value: String(index),
      label: `${key}  ${label}`,
      ...defined({ description: detail }),
    }));
    const widest = Math.max(...items.map(({ label }) => visibleWidth(label)));
    const columns = Math.min(widest + GAP, MOST_COLUMNS);
    this.#list = new SelectList(items, rows.length, theme.list, {
      minPrimaryColumnWidth: columns,
      maxPrimaryColumnWidth: columns,
    });
  }

  invalidate(): void {
    this.#list.invalidate();
  }

  handleInput(data: string): void {
    if (leaves(data)) return this.#done(undefined);
    const index = this.#rows.findIndex(({ key }) => key === data.toLowerCase());
    if (index >= 0) return this.#done(index);
    if (matchesKey(data, "enter")) return this.#done(Number(this.#list.getSelectedItem()?.value ?? 0));
    return this.#list.handleInput(data);
  }

  render(width: number): readonly string[] {
    const { bold, dim } = this.#theme;
    const keys = this.#rows.map(({ key }) => key).join(" ");
    return [
      truncateToWidth(bold(this.#title), width, "…"),
      ...this.#list.render(width),
      truncateToWidth(dim(`${keys} or Enter takes · ↑ ↓ · Esc leaves`), width, "…"),
    ];
  }
}

/** An input that shows a dot for each character. */
class SecretInput implements Component, Focusable {
  readonly #title: string;
  readonly #theme: Theme;
  readonly #input = new Input();
  readonly #done: (text: string | undefined) => void;

  constructor(title: string, { theme, done }: { theme: Theme; done: (text: string | undefined) => void }) {
    this.#title = title;
    this.#theme = theme;
    this.#done = done;
  }

  get focused(): boolean {
    return this.#input.focused;
  }

  set focused(value: boolean) {
    this.#input.focused = value;
  }

  invalidate(): void {
    this.#input.invalidate();
  }

  handleInput(data: string): void {
    if (leaves(data)) return this.#done(undefined);
    if (matchesKey(data, "enter")) return this.#done(this.#input.getValue().trim());
    return this.#input.handleInput(data);
  }

  render(width: number): readonly string[] {
    const { bold, dim } = this.#theme;
    const dots = "•".repeat(Math.min(this.#input.getValue().length, Math.max(0, width - 4)));
    return [
      truncateToWidth(bold(this.#title), width, "…"),
      `› ${dots}▏`,
      truncateToWidth(dim("it is not shown · Enter takes · Esc leaves"), width, "…"),
    ];
  }
}

/** How long answers of the terminal to questions of the screen may take, ms: later ones would be typed into the chat. */
const LATE_MS = 300;

export class TerminalForm implements SetupForm {
  readonly hides = true;
  readonly #cli: Cli;
  readonly #theme: Theme;
  /** Open from the first question to `close`, so that keys which are typed early reach the next question. */
  #screen: TuiMainScreen | undefined;

  constructor(cli: Cli) {
    this.#cli = cli;
    this.#theme = themeOf(hasColours(cli.stdout, cli.env));
  }

  print(line = ""): void {
    if (!this.#screen) return printLine(this.#cli.stdout, line);
    this.#screen.addChild(line === "" ? new Spacer(1) : new Text(line, 0, 0));
    this.#screen.requestRender();
  }

  async pick(title: string, rows: readonly FormRow[]): Promise<number | undefined> {
    const index = await this.#ask<number>((done) => new Menu(title, rows, { theme: this.#theme, done }));
    const row = index === undefined ? undefined : rows[index];
    if (row) this.print(`${this.#theme.accent("›")} ${row.label}`);
    return index;
  }

  secret(title: string): Promise<string | undefined> {
    return this.#ask<string>((done) => new SecretInput(title, { theme: this.#theme, done }));
  }

  progress(line: string | undefined): void {
    this.#cli.stdout.write(line === undefined ? "\n" : `${CLEAR_LINE}${line}`);
  }

  async close(): Promise<void> {
    const screen = this.#screen;
    this.#screen = undefined;
    if (!screen) return;
    screen.renderNow();
    await screen.terminal.drainInput(LATE_MS);
    screen.stop();
  }

  /** Shows a component below what is printed until it is done; its lines are removed then. */
  #ask<T>(make: (done: (answer: T | undefined) => void) => Component): Promise<T | undefined> {
    const isOpen = this.#screen !== undefined;
    const screen = (this.#screen ??= new TuiMainScreen(new ProcessTerminal()));
    return new Promise((resolve) => {
      const component = make((answer) => {
        screen.setFocus(null);
        screen.removeChild(component);
        screen.requestRender();
        resolve(answer);
      });
      screen.addChild(component);
      screen.setFocus(component);
      if (isOpen) screen.requestRender();
      else screen.start();
    });
  }
}
