/**
 * Runtime pins in session lists of OpenClaw that lie in this home (`agents/<id>/sessions/sessions.json`). Nothing reads
 * them: a runtime is chosen for each model. Source: agent runtimes, "Runtime selection".
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PIN_KEYS } from "../config/legacy/pins.ts";
import { isRecord } from "../config/record.ts";
import { replaceConfig } from "./config-repair.ts";
import type { Finding } from "./finding.ts";

const LIST = "sessions.json";

/** With `fix`, takes the pins out; the list as it was stays beside it. */
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
    // Not the list that it is named after: none of our business.
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
    const how = "Run pagurus doctor --fix to take the pins out.";
    return [{ level: "warn", check: "store", detail: `${detail}.`, fix: how }];
  }
  for (const session of pinned) for (const key of PIN_KEYS) Reflect.deleteProperty(session, key);
  const backup = replaceConfig(file, text, `${JSON.stringify(list, null, 2)}\n`, new Date());
  return [{ level: "ok", check: "store", detail: `${detail}; they are out, the old list is ${backup}.` }];
}
