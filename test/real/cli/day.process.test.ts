/**
 * A day of a user as a script, in a real terminal (tmux): 40 tasks, in three sizes in the full form. With `PAGURUS_SCREENS=1` the screens
 * are written to docs/guides/screens; otherwise they are compared with those.
 */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { FULL } from "../../runner/short-form.ts";
import { needTerminal } from "../../servers/terminal.ts";
import { DayScreens } from "./day-screens.ts";
import { Day } from "./day-setting.ts";
import { TASKS } from "./day-tasks.ts";

const SIZES = [
  [100, 30],
  [60, 20],
  [200, 50],
] as const;

const sizes = FULL ? SIZES : SIZES.slice(0, 1);
const tasks = FULL ? TASKS : TASKS.filter(({ isShort }) => isShort === true);

it("the day has 40 tasks", () => {
  assert.equal(new Set(TASKS.map(({ name }) => name)).size, 40);
});

for (const [columns, rows] of sizes) {
  const size = `${columns}x${rows}`;
  describe(`a day at ${size}`, () => {
    const screens = new DayScreens(size);
    let day: Day;

    before(async () => {
      needTerminal();
      day = await Day.start(columns, rows);
    });
    after(async () => {
      screens.close();
      await day.end();
    });

    for (const [index, { name, run, isUnkept }] of tasks.entries()) {
      it(name, async () => {
        await run(day);
        const screen = await day.terminal.settled();
        keepStyled(`${size}-${index + 1}`, day);
        // The short form has other turns above, and the same since the newest input.
        if (isUnkept !== true) screens.take(name, screen, day.setting.root);
      });
    }
  });
}

/** `PAGURUS_SCREENS_FOLDER=<folder>` keeps the screen after each task, with its colours. */
function keepStyled(name: string, { terminal }: Day): void {
  const folder = process.env["PAGURUS_SCREENS_FOLDER"];
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `day-${name}.ansi`), terminal.styled());
}
