/** Simulates a kill between two SQLite statements: copies of the database's files, taken before each statement. */
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync, StatementSync } from "node:sqlite";
import type { TestContext } from "node:test";

export interface Images {
  /** A copy of the agent's folder for each statement, as a kill right before it would leave it. */
  folders: string[];
  remove(): void;
}

/**
 * Runs `work` on the store of `folder` in this thread and copies the folder before each statement. A killed process
 * leaves the data that it has passed to the system: the files as any other process reads them.
 */
export async function imagesOf(t: TestContext, folder: string, work: () => unknown): Promise<Images> {
  const home = mkdtempSync(join(tmpdir(), "lossless-images-"));
  const folders: string[] = [];
  let isCopying = false;
  const copy = (): void => {
    if (isCopying) return;
    isCopying = true;
    const target = join(home, String(folders.length));
    mkdirSync(target);
    for (const name of readdirSync(folder)) copyFileSync(join(folder, name), join(target, name));
    folders.push(target);
    isCopying = false;
  };
  const watch = <Of extends object>(of: Of, name: keyof Of & string): { restore(): void } => {
    const original = Reflect.get(of, name) as (this: unknown, ...values: unknown[]) => unknown;
    const mocked = t.mock.method(
      of as Record<string, () => unknown>,
      name,
      function (this: unknown, ...values: unknown[]) {
        copy();
        return original.apply(this, values);
      },
    );
    return { restore: () => mocked.mock.restore() };
  };
  const watches = [
    ...(["run", "get", "all", "iterate"] as const).map((name) => watch(StatementSync.prototype, name)),
    watch(DatabaseSync.prototype, "exec"),
  ];
  try {
    await work();
  } finally {
    for (const { restore } of watches) restore();
  }
  return { folders, remove: () => rmSync(home, { recursive: true, force: true }) };
}
