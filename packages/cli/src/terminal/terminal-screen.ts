/** The chat on a terminal: the conversation scrolls, the input stays below it. */
import {
  setKeybindings,
  KeybindingsManager,
  Text,
  TUI_KEYBINDINGS,
  Spacer,
  Container,
} from "@earendil-works/pi-tui";
import type { AskPermission, PermissionAnswer, PermissionQuestion } from "@pagurus/contract/host/run";
import { changeCounts, type FileChange } from "@pagurus/host/command/file-changes";
import { oneLine, terminalSafe } from "@pagurus/host/command/layout";
import {
  clipboardSequence,
  type ChatView,
  type CommandView,
  type TurnView,
  type ViewEvents,
  type ViewFacts,
} from "../chat/chat-view.ts";
import { oneAtATime } from "../chat/permission-prompt.ts";
import { hasColours, styleFor, type Cli, type Style } from "../cli.ts";
import type { Choice } from "@pagurus/host/command/command-types";
import type { AgentMessage } from "@pagurus/contract/message";
import { branchOf } from "./branch.ts";
import { readClipboard } from "./clipboard.ts";
import { editedText } from "./external-editor.ts";
import { showPast } from "./past-blocks.ts";
import { PastedImages } from "./pasted-images.ts";
import { Picker } from "./picker.ts";
import { viewTranscript } from "./transcript-view.ts";
import { NoteBlock, ToolBlock, UserBlock } from "./blocks.ts";
import { Completion, type CompletionSources } from "./completion.ts";
import { InputEditor } from "./input-editor.ts";
import type { InputHistory } from "./input-history.ts";
import { lazyHighlighter } from "./lazy-highlight.ts";
import { QuestionPanel } from "./question-panel.ts";
import { StatusLine } from "./status-line.ts";
import { themeOf, type Theme } from "./theme.ts";
import { MainScreen, Transcript } from "./transcript.ts";
import { TurnBlocks } from "./turn-blocks.ts";
import { Twice, TWICE_MS } from "./twice.ts";
import { WholeLines } from "./whole-lines.ts";
import { WorkLine } from "./work-line.ts";

export interface ScreenOptions {
  cli: Cli;
  cwd: string;
  events: ViewEvents;
  sources: CompletionSources;
  history: InputHistory;
  notifyCompactions: boolean;
}

/** Keys that the person types before a question opens belong to the input: the question takes keys after this pause, ms. */
const TYPING_MS = 600;
const HINT_MS = 3_000;

/** Columns of a line on the screen without the terminal's help. */
const LEAST_COLUMNS = 20;

export class TerminalScreen implements ChatView {
  readonly interactive = true;
  readonly keys =
    "/ opens the commands, @ completes files, Esc interrupts, Ctrl-O shows everything, Ctrl-D leaves.";
  readonly text: WholeLines;
  readonly activity: WholeLines;
  readonly #options: ScreenOptions;
  readonly #theme: Theme;
  readonly #style: Style;
  readonly #transcript = new Transcript();
  readonly #screen: MainScreen;
  readonly #waiting = new Text("", 0, 0);
  readonly #work: WorkLine;
  readonly #below = new Container();
  readonly #editor: InputEditor;
  readonly #status: StatusLine;
  #hint: NodeJS.Timeout | undefined;
  #isClosed = false;
  readonly #escapes = new Twice();
  readonly #images = new PastedImages();

  constructor(options: ScreenOptions) {
    this.#options = options;
    const { cli } = options;
    this.#theme = themeOf(
      hasColours(cli.stdout, cli.env),
      lazyHighlighter(() => {
        this.#transcript.invalidate();
        this.#draw();
      }),
    );
    this.#style = styleFor(cli.stdout, cli.env);
    setKeybindings(
      new KeybindingsManager(TUI_KEYBINDINGS, {
        "tui.input.newLine": ["shift+enter", "ctrl+j", "alt+enter"],
        "tui.altScreen.search": ["ctrl+f", "ctrl+shift+f"],
      }),
    );
    this.#screen = new MainScreen(this.#transcript);
    const columns = (): number => Math.max(LEAST_COLUMNS, this.#screen.terminal.columns);
    this.text = new WholeLines(columns, (text) => this.#put(text, true));
    this.activity = new WholeLines(columns, (text) => this.#put(text));
    this.#work = new WorkLine(this.#screen, this.#theme);
    this.#status = new StatusLine(this.#theme);
    this.#editor = this.#newEditor();
    this.#below.addChild(this.#editor);
    for (const part of [this.#work, this.#waiting, new Spacer(1), this.#below, this.#status])
      this.#screen.addChild(part);
    this.#screen.setFocus(this.#editor);
    this.#screen.start();
  }

  #newEditor(): InputEditor {
    const { events, history, sources } = this.#options;
    const showAll = (): boolean => this.#leaveFor(() => viewTranscript(this.#transcript.blocks, this.#theme));
    const editor = new InputEditor(this.#screen, this.#theme, {
      escape: () => !editor.isShowingAutocomplete() && this.#escape(),
      "ctrl+c": () => {
        events.interrupt();
        return true;
      },
      "ctrl+d": () => {
        if (editor.getText() !== "") return false;
        events.end();
        return true;
      },
      "ctrl+o": showAll,
      "ctrl+t": showAll,
      "ctrl+g": () => this.#leaveFor(() => this.#editOutside()),
      "ctrl+r": () => {
        void this.#searchHistory();
        return true;
      },
      "shift+tab": () => {
        events.nextMode();
        return true;
      },
      tab: () => {
        const text = editor.getExpandedText();
        if (!this.#work.isShown || text.trim() === "" || editor.isShowingAutocomplete()) return false;
        this.#sent(text);
        events.later(text);
        return true;
      },
      up: () => editor.getText() === "" && this.#takeBack(),
      // Further ones join those in the input.
      "alt+up": () => this.#takeBack(),
      "ctrl+v": () => {
        void this.#paste();
        return true;
      },
      "alt+t": () => this.#think(1),
      "alt+.": () => this.#think(1),
      "alt+,": () => this.#think(-1),
    });
    for (const text of history.texts) editor.addToHistory(text);
    editor.onPaste = (text) => {
      const mark = this.#images.addPath(text);
      return mark === undefined ? undefined : `${mark} `;
    };
    editor.setAutocompleteProvider(new Completion(sources));
    editor.onSubmit = (text) => {
      if (text.trim() === "") return;
      this.#sent(text);
      events.line(text);
    };
    return editor;
  }

  /** Interrupts what runs; pressed twice it discards the input, and with an empty one goes back to an earlier message. */
  #escape(): boolean {
    const { events, history } = this.#options;
    if (events.escape()) return true;
    const text = this.#editor.getText();
    if (!this.#escapes.press()) {
      this.hint(
        text === "" ? "Esc again goes back to an earlier message" : "Esc again discards the input",
        TWICE_MS,
      );
      return true;
    }
    this.hint(undefined, 0);
    if (text === "") events.rewind();
    else {
      // Up brings it back.
      history.add(this.#editor.getExpandedText());
      this.#editor.addToHistory(this.#editor.getExpandedText());
      this.discardInput();
    }
    return true;
  }

  /** Inserts the picture or the text of the clipboard. */
  async #paste(): Promise<void> {
    const clip = await readClipboard(this.#options.cli.env);
    if (this.#isClosed) return;
    if ("problem" in clip) return this.hint(clip.problem, HINT_MS);
    this.#editor.insertTextAtCursor("text" in clip ? clip.text : `${this.#images.add(clip.image)} `);
    this.#draw();
  }

  images(text: string): string[] {
    return this.#images.of(text);
  }

  #takeBack(): boolean {
    const back = this.#options.events.takeBack();
    if (typeof back === "string") this.restore([back]);
    else void back?.then((text) => this.restore(text === undefined ? [] : [text]));
    return back !== undefined;
  }

  #think(by: 1 | -1): boolean {
    this.#options.events.nextThinking(by);
    return true;
  }

  /** Gives the terminal to something else until that ends. */
  #leaveFor(work: () => Promise<void>): boolean {
    this.#screen.stop({ preserveScreen: true });
    void work()
      .catch((error: unknown) =>
        this.#put(this.#theme.bad(error instanceof Error ? error.message : String(error))),
      )
      .finally(() => {
        if (this.#isClosed) return;
        this.#screen.start();
        // A frame that was due when the screen stopped is not drawn by a request.
        this.#screen.renderNow();
      });
    return true;
  }

  async #editOutside(): Promise<void> {
    const text = await editedText(this.#editor.getExpandedText(), this.#options.cli.env);
    if (text !== undefined) this.#editor.setText(text);
  }

  async #searchHistory(): Promise<void> {
    const texts = this.#options.history.texts.toReversed();
    const items = texts.map((text, index) => ({
      value: String(index),
      label: oneLine(terminalSafe(text), 200),
    }));
    if (items.length === 0) return this.hint("No input was kept yet.", HINT_MS);
    const picked = await this.pick("Which earlier input?", items);
    const text = picked === undefined ? undefined : texts[Number(picked)];
    if (text !== undefined) this.#editor.setText(text);
    this.#draw();
  }

  pick(title: string, choices: readonly Choice[], selected?: string): Promise<string | undefined> {
    return new Promise((resolve) => {
      const done = (item: { value: string } | undefined): void => {
        this.#show(this.#editor);
        resolve(item?.value);
      };
      const rows = (): number => this.#screen.terminal.rows;
      this.#show(new Picker(title, choices, { theme: this.#theme, rows, done, selected }));
    });
  }

  showChanges(changes: readonly FileChange[]): void {
    for (const { path, lines } of changes) {
      const block = new ToolBlock(path, "", this.#theme);
      block.end({ summary: changeCounts([{ path, lines }]), isError: false, text: "", diff: lines });
      this.#transcript.add(block);
    }
    this.#draw();
  }

  past(messages: readonly AgentMessage[]): void {
    showPast(messages, { theme: this.#theme, add: (block) => this.#transcript.add(block) });
    this.#draw();
  }

  #sent(text: string): void {
    this.#editor.setText("");
    this.#editor.addToHistory(text);
    this.#options.history.add(text);
    this.#draw();
  }

  #draw(): void {
    if (!this.#isClosed) this.#screen.requestRender();
  }

  /** `space`: an empty line above. */
  #put(text: string, space = false): void {
    if (this.#isClosed) this.#options.cli.stderr.write(`${text}\n`);
    else this.#transcript.add(new NoteBlock(text, space));
    this.#draw();
  }

  prompt(): void {
    this.text.flush();
    this.activity.flush();
  }

  above(text: string): void {
    this.#put(text);
  }

  copy(text: string): void {
    this.#screen.terminal.write(clipboardSequence(text));
  }

  /** A word in the status line, for a while. */
  hint(text: string | undefined, ms: number): void {
    clearTimeout(this.#hint);
    this.#status.hint(text);
    this.#hint = setTimeout(() => {
      this.#status.hint(undefined);
      this.#draw();
    }, ms).unref();
    this.#draw();
  }

  discardInput(): boolean {
    if (this.#editor.getText() === "") return false;
    this.#editor.setText("");
    this.#draw();
    return true;
  }

  entered(text: string): void {
    this.#transcript.add(new UserBlock(text, this.#theme));
    this.#draw();
  }

  waiting(steering: readonly string[], queued: readonly string[]): void {
    const line = (mark: string, text: string): string =>
      this.#theme.dim(`${mark} ${oneLine(terminalSafe(text), 200)}`);
    const lines = [
      ...steering.map((text) => line("↳ joins the turn:", text)),
      ...queued.map((text) => line("⋯ after the turn:", text)),
    ];
    if (lines.length > 0) lines.push(this.#theme.dim("  ↑ takes the last one back, Alt-↑ more"));
    this.#waiting.setText(lines.join("\n"));
    this.#draw();
  }

  restore(texts: readonly string[]): void {
    if (texts.length === 0) return;
    const typed = this.#editor.getText();
    this.#editor.setText([...texts, ...(typed === "" ? [] : [typed])].join("\n"));
    this.#draw();
  }

  suggest(text: string): void {
    this.restore([text]);
  }

  about({ summary, ...facts }: ViewFacts): void {
    this.#status.set({
      ...facts,
      branch: branchOf(this.#options.cwd),
      ...(summary?.context ? { context: summary.context } : {}),
      ...(summary?.cost ? { cost: summary.cost } : {}),
    });
    this.#draw();
  }

  turn(): Promise<TurnView> {
    const { notifyCompactions } = this.#options;
    return Promise.resolve(
      new TurnBlocks({
        theme: this.#theme,
        style: this.#style,
        add: (block) => this.#transcript.add(block),
        draw: () => this.#draw(),
        working: (words) => this.#work.show(words),
        notifyCompactions,
      }),
    );
  }

  command(line: string): CommandView {
    const block = new ToolBlock("!", line, this.#theme);
    this.#transcript.add(block);
    this.#work.show("Running");
    return {
      push: (chunk) => {
        block.push(chunk);
        this.#draw();
      },
      end: ({ output, code }) => {
        const summary = code === 0 ? "done" : `exit ${code ?? "by a signal"}`;
        block.end({ summary, isError: code !== 0, text: output });
        this.#work.show(undefined);
        this.#draw();
      },
    };
  }

  permission(): AskPermission {
    return oneAtATime((question) => this.#ask(question));
  }

  async #ask(question: PermissionQuestion): Promise<PermissionAnswer> {
    await this.#pauseInTyping(question.signal);
    if (this.#isClosed || question.signal.aborted) return "deny";
    return new Promise((resolve) => {
      const onAbort = (): void => done("deny");
      const done = (answer: PermissionAnswer): void => {
        question.signal.removeEventListener("abort", onAbort);
        this.#show(this.#editor);
        resolve(answer);
      };
      const rows = (): number => this.#screen.terminal.rows;
      this.#show(new QuestionPanel(question, { theme: this.#theme, rows, done }));
      question.signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  #show(panel: InputEditor | QuestionPanel | Picker): void {
    this.#below.clear();
    this.#below.addChild(panel);
    this.#screen.setFocus(panel);
    this.#draw();
  }

  /** Waits until the person has stopped typing for a moment. */
  async #pauseInTyping(signal: AbortSignal): Promise<void> {
    for (;;) {
      const left = this.#editor.lastKeyAt + TYPING_MS - performance.now();
      if (left <= 0 || signal.aborted || this.#isClosed) return;
      await new Promise((resolve) => setTimeout(resolve, left));
    }
  }

  close(): void {
    if (this.#isClosed) return;
    this.text.flush();
    this.activity.flush();
    this.#work.show(undefined);
    this.#below.clear();
    this.#waiting.setText("");
    this.#screen.removeChild(this.#status);
    this.#screen.renderNow();
    this.#isClosed = true;
    clearTimeout(this.#hint);
    this.#screen.stop();
    this.#images.close();
    this.#options.cli.stdin.pause();
  }
}
