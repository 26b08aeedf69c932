/** The conversation on the screen: finished blocks move to the terminal's own scrollback, so that each frame draws a few hundred lines. */
import type { Component, Terminal, TuiMainScreenRenderState } from "@earendil-works/pi-tui";
import { ProcessTerminal, TuiMainScreen } from "@earendil-works/pi-tui";

/** A part of the conversation: a message, a tool call, a notice. */
export interface Block extends Component {
  /** It will not change again. */
  readonly isDone: boolean;
  /** In full, for the transcript view; absent: as it is on the screen. */
  whole?(width: number): readonly string[];
}

export class Transcript implements Component {
  /** Blocks that are drawn, the newest last. */
  readonly #live: Block[] = [];
  /** Blocks that scrolled out of the screen. */
  readonly #past: Block[] = [];
  #width = 0;
  /** Lines of each live block in the newest frame. */
  #heights: number[] = [];

  add(block: Block): void {
    this.#live.push(block);
  }

  /** All blocks, for the transcript view. */
  get blocks(): readonly Block[] {
    return [...this.#past, ...this.#live];
  }

  render(width: number): readonly string[] {
    this.#width = width;
    const parts = this.#live.map((block) => block.render(width));
    this.#heights = parts.map(({ length }) => length);
    return parts.flat();
  }

  invalidate(): void {
    for (const block of this.#live) block.invalidate();
  }

  /** Lets go of the finished blocks that end within the first `lines` lines of the newest frame. Returns their lines. */
  release(lines: number): number {
    let released = 0;
    let count = 0;
    while (count < this.#live.length && this.#live[count]?.isDone === true) {
      const height = this.#heights[count] ?? 0;
      if (released + height > lines) break;
      released += height;
      count += 1;
    }
    if (count === 0) return 0;
    this.#heights.splice(0, count);
    this.#leave(count);
    return released;
  }

  /** Before a redraw for another width: only blocks for the newest `rows` lines stay, so that the screen is filled once. */
  keepOnly(rows: number, width: number): void {
    if (this.#width === 0 || width === this.#width) return;
    let lines = 0;
    let first = this.#live.length;
    while (first > 0 && lines < rows) lines += this.#live[--first]?.render(width).length ?? 0;
    while (first > 0 && this.#live[first - 1]?.isDone !== true) first -= 1;
    this.#leave(first);
  }

  /** The oldest blocks leave the screen; what they computed for it is let go. */
  #leave(count: number): void {
    const left = this.#live.splice(0, count);
    for (const block of left) block.invalidate();
    this.#past.push(...left);
  }
}

/** Erases the scrollback: it belongs to the user and holds what the screen has no longer. */
const ERASE_SCROLLBACK = "\u001b[3J";

/** The same terminal, whose scrollback is never erased. */
function keepingScrollback(terminal: Terminal): Terminal {
  const write = terminal.write.bind(terminal);
  terminal.write = (data) =>
    write(data.includes(ERASE_SCROLLBACK) ? data.replaceAll(ERASE_SCROLLBACK, "") : data);
  return terminal;
}

/** Lines above the screen that are drawn in each frame, besides those on it. */
const KEPT_ABOVE = 20;

/** Draws in the terminal's main screen, and lets go of lines that scrolled out of it. */
export class MainScreen extends TuiMainScreen {
  readonly #transcript: Transcript;

  constructor(transcript: Transcript, terminal: Terminal = new ProcessTerminal()) {
    super(keepingScrollback(terminal));
    this.#transcript = transcript;
    this.addChild(transcript);
  }

  protected override doRender(): void {
    const { columns, rows } = this.terminal;
    this.#transcript.keepOnly(rows, columns);
    super.doRender();
    const state = this.captureRenderState();
    const above = state.previousViewportTop - KEPT_ABOVE;
    if (above < KEPT_ABOVE) return;
    const released = this.#transcript.release(above);
    if (released > 0) this.restoreRenderState(withoutTop(state, released));
  }
}

function withoutTop(state: TuiMainScreenRenderState, lines: number): TuiMainScreenRenderState {
  return {
    ...state,
    previousLines: state.previousLines.slice(lines),
    cursorRow: state.cursorRow - lines,
    hardwareCursorRow: state.hardwareCursorRow - lines,
    maxLinesRendered: state.maxLinesRendered - lines,
    previousViewportTop: state.previousViewportTop - lines,
  };
}
