/** `pagurus setup --undo`: takes back the last setup. */
import { toPagurusError } from "@pagurus/contract/errors";
import { plural } from "@pagurus/core/data/plain-numbers";
import { printLine, withPagurus, type Cli } from "../cli.ts";
import { EXIT_DONE } from "../cli-failure.ts";
import { SetupRecord, type ImportedRecord } from "./setup-record.ts";

/** Removes the imported conversations that nothing was added to, while the configuration of setup still holds. */
async function removeImported(cli: Cli, imported: readonly ImportedRecord[]): Promise<string[]> {
  if (imported.length === 0) return [];
  return await withPagurus(cli, async (pagurus) => {
    const store = pagurus.sessions();
    const kept: string[] = [];
    let removed = 0;
    for (const { sessionKey, sessionId, bytes } of imported) {
      const now = store.find(sessionKey);
      if (!now) continue;
      if (now.sessionId !== sessionId || now.bytes !== bytes) {
        kept.push(sessionKey);
        continue;
      }
      try {
        await pagurus.deleteSession({ sessionKey });
        removed += 1;
      } catch (error) {
        kept.push(`${sessionKey} (${toPagurusError(error).message})`);
      }
    }
    return [
      `${plural(removed, "imported conversation")} removed; the files of the other agents were never changed.`,
      ...(kept.length === 0 ? [] : [`Kept, since they were continued or are in use: ${kept.join(", ")}.`]),
    ];
  });
}

/** Throws `store_read_failed` for a damaged record. */
export async function undoSetup(cli: Cli, home: string): Promise<number> {
  const record = SetupRecord.newest(home);
  if (!record) {
    printLine(cli.stdout, `Setup has changed nothing in ${home} that could be taken back.`);
    return EXIT_DONE;
  }
  for (const line of await removeImported(cli, record.imported)) printLine(cli.stdout, line);
  for (const line of record.undo()) printLine(cli.stdout, line);
  return EXIT_DONE;
}
