/** The delay of a typed character on the screen of the chat while much text streams: an answer, code, the output of a command. */
import { setImmediate as turnOfLoop } from "node:timers/promises";
import type { Terminal } from "@earendil-works/pi-tui";
import { Answer, ToolBlock } from "../../packages/cli/src/terminal/blocks.ts";
import { highlighter } from "../../packages/cli/src/terminal/highlight.ts";
import { InputEditor } from "../../packages/cli/src/terminal/input-editor.ts";
import { themeOf } from "../../packages/cli/src/terminal/theme.ts";
import { MainScreen, Transcript } from "../../packages/cli/src/terminal/transcript.ts";
import { partRows, withTarget, type BenchOptions, type BenchRow } from "../report.ts";

const MOST_MS = 50;
const TEXT_BYTES = 10 * 1024 * 1024;
const PIECE = 64;
/** Pieces that arrive in one turn of the event loop. */
const PIECES = 4;
/** Pause between two keys, ms. */
const PAUSE_MS = 50;

/** The processor time of this thread, ms. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

interface Delay {
  ms: number;
  /** Of the program: on a busy machine `ms` has the time of others. */
  cpuMs: number;
}

const WORDS =
  "The keeper of the quay wrote down **which ships** had come, and `when` they were to leave.\n\n- one\n- two\n\n";
const CODE = `\`\`\`ts\n${"const berth = ships.find((ship) => ship.name === 'Merle');\n".repeat(200)}\`\`\`\n\n`;

/** Takes what is drawn, and notes when an expected character is in it. */
class Sink implements Terminal {
  readonly columns = 120;
  readonly rows = 40;
  readonly kittyProtocolActive = false;
  type: (keys: string) => void = () => undefined;
  #expected = "";
  /** When the expected character was drawn; undefined before. */
  drawnAt: Delay | undefined;

  start(onInput: (keys: string) => void): void {
    this.type = onInput;
  }

  expect(character: string): void {
    this.#expected = character;
    this.drawnAt = undefined;
  }

  write(data: string): void {
    if (this.drawnAt === undefined && this.#expected !== "" && data.includes(this.#expected))
      this.drawnAt = { ms: performance.now(), cpuMs: cpuMs() };
  }

  drainInput(): Promise<void> {
    return Promise.resolve();
  }

  stop(): void {}
  moveBy(): void {}
  hideCursor(): void {}
  showCursor(): void {}
  clearLine(): void {}
  clearFromCursor(): void {}
  clearScreen(): void {}
  setTitle(): void {}
  setProgress(): void {}
  setProgramStatus(): void {}
}

/** The delays of keys while `push` gets a text of so many bytes that repeats `unit`. */
async function delays(
  unit: string,
  bytes: number,
  push: (piece: string, transcript: Transcript) => void,
): Promise<Delay[]> {
  const terminal = new Sink();
  const transcript = new Transcript();
  const screen = new MainScreen(transcript, terminal);
  const input = new InputEditor(screen, themeOf(true), {});
  screen.addChild(input);
  screen.setFocus(input);
  screen.start();
  const found: Delay[] = [];
  let typedAt: Delay | undefined;
  let nextAt = performance.now() + PAUSE_MS;
  for (let sent = 0; sent < bytes;) {
    for (let piece = 0; piece < PIECES; piece++) {
      const at = sent % unit.length;
      const text = unit.slice(at, at + PIECE);
      push(text, transcript);
      sent += text.length;
    }
    screen.requestRender();
    await turnOfLoop();
    if (typedAt !== undefined && terminal.drawnAt !== undefined) {
      const { ms, cpuMs: cpu } = terminal.drawnAt;
      found.push({ ms: ms - typedAt.ms, cpuMs: cpu - typedAt.cpuMs });
      typedAt = undefined;
      nextAt = performance.now() + PAUSE_MS;
      input.setText("");
    }
    if (typedAt !== undefined || performance.now() < nextAt) continue;
    // A character that no text has.
    const character = String.fromCodePoint(0x4e00 + (found.length % 10_000));
    terminal.expect(character);
    typedAt = { ms: performance.now(), cpuMs: cpuMs() };
    terminal.type(character);
  }
  screen.stop();
  return found;
}

async function rowsOf(name: string, run: () => Promise<Delay[]>): Promise<BenchRow[]> {
  const found = await run();
  if (found.length === 0) throw new Error(`No key was drawn while ${name} streamed.`);
  const at = (share: number, of: keyof Delay = "ms"): number => {
    const values = found.map((delay) => delay[of]).toSorted((left, right) => left - right);
    return values[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0;
  };
  const measure = `a typed character while ${name} streams`;
  return [
    { measure: `${measure}, p50`, value: at(0.5), unit: "ms" },
    withTarget({ measure: `${measure}, p95`, value: at(0.95), unit: "ms" }, "<=", MOST_MS),
    { measure: `${measure}, p95 of processor time`, value: at(0.95, "cpuMs"), unit: "ms" },
    { measure: `${measure}: keys`, value: found.length, unit: "keys" },
  ];
}

export const parts = ["answer", "code", "command"];

export function run(options: BenchOptions): Promise<BenchRow[]> {
  const bytes = options.quick ? TEXT_BYTES / 16 : TEXT_BYTES;
  const theme = themeOf(true, highlighter());
  const streamed = (unit: string): Promise<Delay[]> => {
    let answer: Answer | undefined;
    return delays(unit, bytes, (piece, transcript) => {
      answer ??= new Answer((block) => transcript.add(block), theme);
      answer.push(piece);
    });
  };
  const printed = (): Promise<Delay[]> => {
    let tool: ToolBlock | undefined;
    return delays(WORDS, bytes, (piece, transcript) => {
      if (!tool) transcript.add((tool = new ToolBlock("shell", "make", theme)));
      tool.push(piece);
    });
  };
  return partRows(
    {
      answer: () => rowsOf("an answer", () => streamed(WORDS)),
      code: () => rowsOf("code", () => streamed(CODE)),
      command: () => rowsOf("a command's output", printed),
    },
    options,
  );
}
