/** The authority that each door gives, in one place. That of a token is made from its limits, `packages/server/src/access/tokens.ts`. */
import { OWNER, type Authority } from "@pagurus/contract/host/authority";

/** The channels of the configuration as one caller: what a person may do is decided for each message. */
export const CHANNELS: Authority = { ...OWNER, door: "channel", tokenId: "channels" };

/** The work of a channel's message: no programs and no saved rules; its mode is in the request. */
export function channelWork(channel: string): Authority {
  return {
    ...OWNER,
    door: "channel",
    tokenId: `channel:${channel}`,
    mayStartPrograms: false,
    mayRemember: false,
  };
}

/** A job that the owner made at the command line; any other job has the authority of who made it. */
export const OWN_JOB: Authority = { ...OWNER, door: "job", tokenId: "schedule" };

/** A plugin's code runs in this process; the turns that it starts are as configured at most. */
export const PLUGIN: Authority = {
  ...OWNER,
  door: "plugin",
  tokenId: "plugin",
  mode: "auto",
  mayStartPrograms: false,
};
