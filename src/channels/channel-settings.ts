/** Settings of a channel, with their defaults. */
import type { ChannelConfig } from "../config/config-types.ts";
import { PagurusError } from "../contract/errors.ts";
import type { TurnWork } from "../inbox/work.ts";

export interface ChannelSettings {
  id: string;
  agentId: string;
  /** One session for all that speak there; absent: one for each of them. */
  session?: string;
  permission: NonNullable<TurnWork["permission"]>;
  /** Addresses that may speak without a code, in lower case. */
  allow: ReadonlySet<string>;
  /** Folder of the turns. */
  cwd: string;
}

export function channelSettings(id: string, config: ChannelConfig, cwd: string): ChannelSettings {
  return {
    id,
    agentId: config.agent ?? "main",
    ...(config.session === undefined ? {} : { session: config.session }),
    permission: config.permission ?? "deny",
    allow: new Set((config.allow ?? []).map((address) => address.toLowerCase())),
    cwd: config.workspace ?? cwd,
  };
}

/** Replaces `${NAME}` by the environment's value. Throws `credential_missing` for a variable that is not set. */
export function secretFrom(
  value: string,
  key: string,
  env: Readonly<Record<string, string | undefined>>,
): string {
  return value.replaceAll(/\$\{([A-Za-z_]\w*)\}/g, (_whole, name: string) => {
    const found = env[name];
    if (found !== undefined && found !== "") return found;
    throw new PagurusError(
      "credential_missing",
      `${key} refers to the environment variable ${name}, which is not set; set it.`,
      { details: { missing: name } },
    );
  });
}
