/** A kind of channel that a plugin adds: what `api.registerChannel` takes. */
import type { Channel } from "./channel.ts";
/** The options of a plugin's channel. */
export interface ChannelContext {
    /** The channel's name in the configuration. */
    id: string;
    /** `channels.<id>.settings` as written, `${VARIABLE}` replaced in every text; empty where absent. The plugin checks it. */
    settings: Readonly<Record<string, unknown>>;
}
/**
 * Makes the channel of one entry of the configuration. Called once for each when `pagurus serve` starts, and by
 * `pagurus channels test`; it connects nothing. May throw: the channel's state is the message then, and the others work.
 */
export type ChannelFactory = (context: ChannelContext) => Channel | Promise<Channel>;
/** A registered kind. */
export interface ChannelKind {
    kind: string;
    create: ChannelFactory;
}
