/**
 * Resident memory of a process that adopts a long session and serves its turns, of any checkout. The benchmark's own rows are
 * over the idle process, which since commit 35dd06b loads less: the same memory is more over it.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Figures } from "../bench/lossless/jobs.ts";
import type { Sample } from "./pairs.ts";

type Store = typeof import("../bench/lossless/store.ts");

/** Figures of one process at `root`. */
export async function residentMemory(root: string, { quick }: { quick: boolean }): Promise<Sample[]> {
  const { Place, inChild } = (await import(
    pathToFileURL(join(root, "bench/lossless/store.ts")).href
  )) as Store;
  const folder = mkdtempSync(join(tmpdir(), "pagurus-memory-"));
  const count = quick ? 5_000 : 100_000;
  try {
    const place = new Place(folder, "session", count);
    await place.job("write");
    const job = { name: "memory", folder: place.folder, turns: quick ? 40 : 150 };
    const { idleMb = 0, adoptedMb = 0, servedMb = 0 }: Figures = await inChild(job, "assemble-child.ts");
    const sample = (what: string, value: number): Sample => ({
      measure: `resident memory at ${count.toLocaleString("en-US")}, ${what}`,
      value,
      unit: "MB",
      better: "less",
    });
    return [
      sample("idle", idleMb),
      sample("adopting", idleMb + adoptedMb),
      sample("serving turns", idleMb + servedMb),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
