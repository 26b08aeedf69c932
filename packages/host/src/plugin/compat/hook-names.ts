/** Maps OpenClaw hook names to ours. Names that are neither listed here nor ours have no counterpart. */
import type { HookName } from "@pagurus/contract/host/hooks";
import { HOOK_RULES } from "@pagurus/contract/host/hook-rules";

/** Counterparts of names of `api.on` and, with a colon, of `api.registerHook`, that are not ours. */
const COUNTERPARTS: Readonly<Record<string, HookName>> = {
  before_agent_start: "before_prompt_build",
  agent_turn_prepare: "before_prompt_build",
  "agent:bootstrap": "before_prompt_build",
  before_agent_run: "user_prompt",
  reply_payload_sending: "message_sending",
  "message:received": "message_received",
  "command:new": "before_reset",
  "command:reset": "before_reset",
  "gateway:startup": "gateway_start",
  "session:compact:before": "before_compaction",
  "session:compact:after": "after_compaction",
};

/** OpenClaw's names of gates that run as one of ours. */
export const GATES_ELSEWHERE: readonly string[] = ["before_agent_run", "reply_payload_sending"];

/** OpenClaw's hooks without a counterpart whose answers cancel, revise, redirect or narrow something: they guard nothing here. */
const IDLE_GATES = new Set(
  "before_agent_reply before_dispatch before_install before_message_write inbound_claim reply_dispatch resolve_exec_env subagent_delivery_target subagent_spawning".split(
    " ",
  ),
);

/** Whether a hook that never runs here could have blocked something. */
export function isIdleGate(name: string): boolean {
  return IDLE_GATES.has(name);
}

/** Our hook for an OpenClaw name; undefined if it is never called here. */
export function counterpartOf(name: string): HookName | undefined {
  if (Object.hasOwn(HOOK_RULES, name)) return name as HookName;
  return Object.hasOwn(COUNTERPARTS, name) ? COUNTERPARTS[name] : undefined;
}
