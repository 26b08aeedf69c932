/** A rollout of Codex that cannot continue, as one that can: the rules are those of the Responses API. */
import { recordOf } from "@pagurus/core/data/record-fields";
import { CODEX_REPAIRS } from "./codex-repairs.ts";
import { repaired, type Rescued } from "./rescued.ts";

/** `id`: of the new session. */
export function rescueCodex(content: Buffer, id: string): Rescued {
  const { lines, findings } = repaired(content, CODEX_REPAIRS);
  return {
    lines: lines.map(({ value }) =>
      value["type"] === "session_meta" ? { ...value, payload: { ...recordOf(value["payload"]), id } } : value,
    ),
    findings,
  };
}
