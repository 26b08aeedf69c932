/** What a look at a channel finds beyond its connection. */
/** What is wrong with a channel that can be connected, and what its owner should know, in sentences. */
export interface ChannelCheck {
    problems: readonly string[];
    notes: readonly string[];
}
