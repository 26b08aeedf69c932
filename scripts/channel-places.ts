/** Compares the bundled kinds of channels with the guide and with the conformance suite. Types compare them with their code and with `channels add`. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { BUNDLED_CHANNELS } from "../packages/core/src/config/bundled.ts";
import { filesUnder } from "./source-files.ts";

const GUIDE = "docs/guides/channels.md";

/** Text of letters alone, so that `E-mail` is `email` and `Webhooks` begins with `webhook`. */
function plain(text: string): string {
  return text.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
}

/** The first cells of the guide's table "What is promised". */
function promisedIn(guide: string): string[] {
  const [, section = ""] = guide.split("\n## What is promised\n");
  const [table = ""] = section.trimStart().split("\n\n");
  return [...table.matchAll(/^\| ([^|]+)\|/gm)].map(([, cell = ""]) => plain(cell));
}

/** One sentence for each forgotten place. */
export function checkChannelPlaces(root: string): string[] {
  const promised = promisedIn(readFileSync(join(root, GUIDE), "utf8"));
  const suites = filesUnder(root, "test", ".test.ts").flatMap((file) =>
    [...readFileSync(join(root, file), "utf8").matchAll(/\btestChannel\("([^"]+)"/g)].map(([, title = ""]) =>
      plain(title),
    ),
  );
  return BUNDLED_CHANNELS.flatMap((kind) => [
    ...(promised.some((cell) => cell.startsWith(kind))
      ? []
      : [`${GUIDE}, "What is promised": no row of ${kind}`]),
    ...(suites.some((title) => title.startsWith(kind))
      ? []
      : [`no test runs the suite of channels for ${kind} (testChannel("${kind}…", …))`]),
  ]);
}
