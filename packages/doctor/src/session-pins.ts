/**
 * Runtime pins in OpenClaw's session lists in this home (`agents/<id>/sessions/sessions.json`). Nothing reads them: a runtime
 * is chosen per model. Source: agent runtimes, "Runtime selection".
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PIN_KEYS } from "@pagurus/core/config/legacy/legacy-pins";
import { replaceWithBackup } from "@pagurus/core/config/replace-with-backup";
import type { Finding } from "./finding.ts";
import { isRecord } from "@pagurus/core/data/record-fields";

const LIST = "sessions.json";

/** With `fix`, removes the pins; a backup of the list is kept beside it. */
export function checkSessionPins(home: string, fix: boolean): Finding[] {
  const agents = join(home, "agents");
  if (!existsSync(agents)) return [];
  return readdirSync(agents)
    .toSorted()
    .map((id) => join(agents, id, "sessions", LIST))
    .filter((file) => existsSync(file))
    .flatMap((file) => checkList(file, fix));
}

function checkList(file: string, fix: boolean): Finding[] {
  const text = readFileSync(file, "utf8");
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch {
    // Not such a list despite its name: ignored.
    return [];
  }
  if (typeof list !== "object" || list === null) return [];
  const pinned = Object.values(list).filter(
    (session): session is Record<string, unknown> =>
      isRecord(session) && PIN_KEYS.some((key) => Object.hasOwn(session, key)),
  );
  if (pinned.length === 0) return [];
  const detail = `${file} pins ${pinned.length} sessions to a runtime, which is ignored`;
  if (!fix) {
    const how = "Run pagurus doctor --fix to remove the pins.";
    return [{ level: "warn", check: "store", detail: `${detail}.`, fix: how }];
  }
  for (const session of pinned) for (const key of PIN_KEYS) Reflect.deleteProperty(session, key);
  const backup = replaceWithBackup(file, text, `${JSON.stringify(list, null, 2)}\n`, new Date());
  return [{ level: "ok", check: "store", detail: `${detail}; they are removed, the old list is ${backup}.` }];
}
