/** A user's home with files of other programs, and a keeper of it. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Keeper } from "../../packages/keeper/src/keeper.ts";
import { keeperPlace } from "../../packages/keeper/src/keeper-place.ts";
import { KeptWords } from "../../packages/keeper/src/words/kept-words.ts";
import { TestClock } from "../runner/test-clock.ts";

export const SESSION = "11111111-1111-4111-8111-111111111111";

export class KeptHome implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), "keeper-"));
  readonly clock = new TestClock();
  readonly problems: string[] = [];
  keeper: Keeper = this.open();

  open(): Keeper {
    return Keeper.open({
      place: keeperPlace(join(this.folder, "pagurus")),
      env: { HOME: this.folder },
      clock: this.clock,
      onProblem: (path) => void this.problems.push(path),
    });
  }

  /** Ends the keeper and starts another one. */
  reopen(): void {
    this.keeper.close();
    this.keeper = this.open();
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  write(name: string, content: string | Uint8Array): string {
    const path = this.path(name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    return path;
  }

  /** The newest version of a file as it is kept. */
  kept(path: string, version?: number): string {
    const { archive } = this.keeper;
    const file = archive.fileAt(path);
    return file ? archive.bytes(file.id, version ?? file.version).toString("utf8") : "";
  }

  events(): string[] {
    return this.keeper.archive.events().map(({ kind, bytes }) => `${kind} ${bytes}`);
  }

  /** What is kept, for a reader. */
  words(): KeptWords {
    return new KeptWords(keeperPlace(this.path("pagurus")).folder, { HOME: this.folder });
  }

  [Symbol.dispose](): void {
    this.keeper.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A line of a conversation of Claude Code. */
export function claudeLine(number: number, text: string): string {
  return `${JSON.stringify({
    parentUuid: number === 0 ? null : `u${number - 1}`,
    isSidechain: false,
    cwd: "/work/project",
    sessionId: SESSION,
    version: "2.1.330",
    type: number % 2 === 0 ? "user" : "assistant",
    message: { role: number % 2 === 0 ? "user" : "assistant", content: [{ type: "text", text }] },
    uuid: `u${number}`,
    timestamp: new Date(Date.parse("2026-05-01T10:00Z") + number * 1_000).toISOString(),
  })}\n`;
}
