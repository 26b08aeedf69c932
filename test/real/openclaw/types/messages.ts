/** Messages, in both directions: fields that an engine reads of one, and the roles that it answers with. */
import type { AgentMessage } from "../../../../packages/contract/src/message.ts";
import type {
  FOREIGN_ROLES,
  ForeignAssistant,
  ForeignMessage,
} from "../../../../packages/host/src/plugin/compat/foreign-messages.ts";
import type { OfMessages } from "./declared.ts";
import type { Drift, None, Undeclared } from "./drift.ts";
import type { TheirMessage } from "./openclaw.ts";

type Role = "user" | "assistant" | "toolResult";
/** Without its role, by which the comparison passes over messages. */
type Fields<M, R extends Role> = Omit<Extract<M, { role: R }>, "role" | "content">;
type TheirPart<T extends string> = Extract<
  Extract<TheirMessage, { role: "assistant" }>["content"][number],
  { type: T }
>;
type Part<T extends string> = Extract<ForeignAssistant["content"][number], { type: T }>;

export type Roles = None<
  Undeclared<
    `role ${Exclude<TheirMessage["role"], AgentMessage["role"] | keyof typeof FOREIGN_ROLES>}: not read`,
    never
  >
>;
/** By members, as a union of them could not be linted where OpenClaw is not installed. */
interface Drifts {
  user: Drift<Fields<ForeignMessage, "user">, Fields<TheirMessage, "user">, "user", "given">;
  assistant: Drift<
    Fields<ForeignMessage, "assistant">,
    Fields<TheirMessage, "assistant">,
    "assistant",
    "given"
  >;
  toolResult: Drift<
    Fields<ForeignMessage, "toolResult">,
    Fields<TheirMessage, "toolResult">,
    "toolResult",
    "given"
  >;
  toolCall: Drift<Part<"toolCall">, TheirPart<"toolCall">, "toolCall", "given">;
}

export type Messages = None<Undeclared<Drifts[keyof Drifts], OfMessages>>;
export type Thinking = None<
  Undeclared<Drift<Part<"thinking">, TheirPart<"thinking">, "thinking", "given">, never>
>;
