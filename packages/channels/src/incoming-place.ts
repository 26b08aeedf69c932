/** Where a message of a channel belongs: its session, the place of its answer, the lines of its group. */
import { createHash } from "node:crypto";
import type { IncomingMessage } from "@pagurus/contract/channel/channel";
import type { WorkPlace } from "@pagurus/inbox/work";
import { addressKey } from "./address-key.ts";
import type { ChannelSettings } from "./channel-settings.ts";
import type { Place } from "./channel-store.ts";
import type { MessageOrigin } from "./waiting-messages.ts";
import { defined } from "@pagurus/core/data/defined";

/**
 * The session of a person, thread or group. Characters that no key has are replaced; a digest keeps apart such keys, and those that
 * another channel, group or person could have too.
 */
function sessionKeyOf(channel: string, address: string, ambiguous?: "group" | "person" | "thread"): string {
  const plain = `${channel}:${address}`;
  const key = plain.replaceAll(/[^\p{L}\p{N}\p{M}._:@+/#=~-]/gu, "-").slice(0, 160);
  if (key === plain && ambiguous === undefined) return key;
  const whole = ambiguous === undefined ? plain : JSON.stringify([channel, ambiguous, address]);
  return `${key}#${createHash("sha256").update(whole).digest("hex").slice(0, 16)}`;
}

export type GroupMessage = IncomingMessage & { group: string };

/** Where a message is answered. */
export function placeOf(channel: string, { from, group, thread, reply }: IncomingMessage): Place {
  return { channel, address: group ?? from, isGroup: group !== undefined, ...defined({ thread, reply }) };
}

/** Name of the lines that are context of a message: those of its thread, or of the group outside of threads. */
export function linesOf({ group, thread }: GroupMessage): string {
  return thread === undefined ? group : JSON.stringify([group, thread]);
}

export function messageOrigin(
  channel: string,
  { id: message, from }: IncomingMessage,
  where: WorkPlace,
): MessageOrigin {
  return { channel, message, person: from, session: where.sessionKey };
}

/** The session in which a message is answered. */
export function sessionOf(settings: ChannelSettings, { from, group, thread }: IncomingMessage): WorkPlace {
  const { id, agentId, session, scope, groups } = settings;
  const own = group === undefined ? session : groups.get(addressKey(group))?.session;
  if (own !== undefined) return { agentId, sessionKey: own };
  const member = scope === "group" ? "" : `/${from}`;
  if (group !== undefined && thread !== undefined)
    return { agentId, sessionKey: sessionKeyOf(id, `${group}/${thread}${member}`, "thread") };
  const address = group === undefined ? (thread ?? from) : `${group}${member}`;
  const isAmbiguous = id.includes(":") || (group === undefined && isLikeGroup(settings, address));
  const kind = group === undefined ? "person" : "group";
  return { agentId, sessionKey: sessionKeyOf(id, address, isAmbiguous ? kind : undefined) };
}

/** In a service where a person can have the address of a group, or of a member of one. */
function isLikeGroup({ groups }: ChannelSettings, address: string): boolean {
  const key = addressKey(address);
  return [...groups.keys()].some((group) => key === group || key.startsWith(`${group}/`));
}
