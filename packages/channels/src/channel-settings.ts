/** Settings of a channel, with their defaults. */
import type { ChannelConfig } from "@pagurus/core/config/config-types";
import type { TurnWork } from "@pagurus/inbox/work";
import { addressKey } from "./address-key.ts";
import type { WaitingLimits } from "./waiting-messages.ts";
import { defined } from "@pagurus/core/data/defined";

export interface GroupSettings {
  /** What is answered: messages that speak to the host, or all. */
  answer: "mention" | "always";
  /** Whose: of people who may speak, or of all members. */
  from: "known" | "all";
  session?: string;
}

export interface ChannelSettings {
  id: string;
  agentId: string;
  /** One session for all direct messages; absent: one for each person. */
  session?: string;
  /** In a group: one session for it, or one for each person of it. */
  scope: "group" | "peer";
  /** By `addressKey`; messages of any other group are ignored. */
  groups: ReadonlyMap<string, GroupSettings>;
  permission: NonNullable<TurnWork["permission"]>;
  /** Addresses that may speak without a code, by `addressKey`. */
  allow: ReadonlySet<string>;
  /** Folder of the turns. */
  cwd: string;
  /** Messages of ours in one thread and hour; more are taken for a loop of programs. */
  answersPerHour: number;
  /** Messages that may wait for their answers. */
  waiting: WaitingLimits;
}

export function channelSettings(id: string, config: ChannelConfig, cwd: string): ChannelSettings {
  return {
    id,
    agentId: config.agent ?? "main",
    ...defined({ session: config.session }),
    scope: config.scope ?? "group",
    groups: new Map(
      Object.entries(config.groups ?? {}).map(
        ([address, { answer = "mention", from = "known", session }]) => [
          addressKey(address),
          { answer, from, ...defined({ session }) },
        ],
      ),
    ),
    permission: config.permission ?? "deny",
    allow: new Set((config.allow ?? []).map(addressKey)),
    cwd: config.workspace ?? cwd,
    answersPerHour: config.answersPerHour ?? 30,
    waiting: { person: config.waitingPerPerson ?? 100, session: config.waitingPerSession ?? 300 },
  };
}
