/** A conversation of Claude Code that cannot continue, as one that can: the rules are those of the Messages API and of the program's own chain of messages. */
import { BLOCK_REPAIRS } from "./claude-blocks.ts";
import { CHAIN_REPAIRS, REST_REPAIRS } from "./claude-chain.ts";
import { PAIR_REPAIRS } from "./claude-pairs.ts";
import { repaired, type Repair, type Rescued } from "./rescued.ts";

/** Each kind of damage, in the order in which it is looked for. */
export const CLAUDE_CODE_REPAIRS: readonly Repair[] = [
  ...CHAIN_REPAIRS,
  ...BLOCK_REPAIRS,
  ...PAIR_REPAIRS,
  ...REST_REPAIRS,
];

/** `id`: of the new session. */
export function rescueClaudeCode(content: Buffer, id: string): Rescued {
  const { lines, findings } = repaired(content, CLAUDE_CODE_REPAIRS);
  return {
    lines: lines.map(({ value }) => ("sessionId" in value ? { ...value, sessionId: id } : value)),
    findings,
  };
}
