import assert from "node:assert/strict";
import { test } from "node:test";
import { Text } from "@earendil-works/pi-tui";
import { Answer, NoteBlock, ToolBlock } from "../../../packages/cli/src/terminal/blocks.ts";
import { themeOf } from "../../../packages/cli/src/terminal/theme.ts";
import { MainScreen, Transcript } from "../../../packages/cli/src/terminal/transcript.ts";
import { Emulator } from "./emulator.ts";

const theme = themeOf(false);

function opened(columns = 60, rows = 12): { terminal: Emulator; transcript: Transcript; screen: MainScreen } {
  const terminal = new Emulator(columns, rows);
  const transcript = new Transcript();
  const screen = new MainScreen(transcript, terminal);
  screen.addChild(new Text("the input", 0, 0));
  screen.start();
  return { terminal, transcript, screen };
}

/** Numbers of the lines such as `line 17` on the terminal, in order. */
function numbers(lines: readonly string[]): number[] {
  return lines.flatMap((line) => /^line (\d+)$/.exec(line)?.slice(1).map(Number) ?? []);
}

test("a long conversation is in the terminal once and in order, and a frame draws only its end", async () => {
  const { terminal, transcript, screen } = opened();
  for (let line = 0; line < 5_000; line++) {
    transcript.add(new NoteBlock(`line ${line}`));
    if (line % 3 === 0) screen.renderNow();
  }
  screen.renderNow();
  const lines = await terminal.lines();
  assert.deepEqual(
    numbers(lines),
    Array.from({ length: 5_000 }, (_, line) => line),
  );
  assert.ok(transcript.render(60).length < 100);
  assert.equal(transcript.blocks.length, 5_000);
  const before = terminal.written;
  transcript.add(new NoteBlock("one more"));
  screen.renderNow();
  assert.ok(terminal.written - before < 400, `${terminal.written - before} characters for one more line`);
});

test("a block that still changes stays on the screen, and so does all after it", async () => {
  const { terminal, transcript, screen } = opened();
  const tool = new ToolBlock("shell", "make", theme);
  transcript.add(tool);
  for (let line = 0; line < 200; line++) {
    transcript.add(new NoteBlock(`line ${line}`));
    screen.renderNow();
  }
  tool.end({ summary: "done", isError: false, text: "" });
  screen.renderNow();
  assert.equal(numbers(await terminal.screen()).at(-1), 199);
});

test("after a resize the newest lines fill the screen, and the scrollback is not erased", async () => {
  const { terminal, transcript, screen } = opened(60, 12);
  for (let line = 0; line < 500; line++) transcript.add(new NoteBlock(`line ${line}`));
  screen.renderNow();
  assert.equal(numbers(await terminal.lines()).length, 500);
  terminal.resize(40, 12);
  screen.renderNow();
  assert.equal(numbers(await terminal.screen()).at(-1), 499);
  assert.ok(numbers(await terminal.lines()).includes(3), "the oldest lines are in the scrollback");
});

test("an answer of any length streams in pieces that are drawn once", async () => {
  const { terminal, transcript, screen } = opened();
  const answer = new Answer((block) => transcript.add(block), theme);
  const text = Array.from({ length: 3_000 }, (_, line) => `line ${line}\n\n`).join("");
  for (let at = 0; at < text.length; at += 37) {
    answer.push(text.slice(at, at + 37));
    if (at % 5 === 0) screen.renderNow();
  }
  answer.end();
  screen.renderNow();
  assert.deepEqual(
    numbers(await terminal.lines()),
    Array.from({ length: 3_000 }, (_, line) => line),
  );
});
