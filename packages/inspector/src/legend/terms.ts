/** The legend: every term of the inspector with a name for a reader and its meaning. Pages take names and explanations from here alone. */
import type { PartSource } from "@pagurus/api/types";

export interface Term {
  name: string;
  /** One or two sentences. */
  says: string;
}

/** Where the bytes of a part come from. */
export const SOURCES: Readonly<Record<PartSource, Term>> = {
  system: {
    name: "System prompt",
    says: "The rules that the model reads first: those of the agent and of the program that runs it.",
  },
  tools: { name: "Tool", says: "The description of a tool that the model may call." },
  addition: { name: "Engine's note", says: "A text that the context engine puts beside the system prompt." },
  instructions: {
    name: "Project file",
    says: "A file of the project that is read by agents, such as AGENTS.md.",
  },
  memory: { name: "Memory", says: "Notes that the agent keeps across conversations." },
  head: {
    name: "Summary",
    says: "A summary of older messages, sent in place of them, as not all of their words fit into the model's window.",
  },
  kept: { name: "Earlier message", says: "A message of an earlier turn, in its own words." },
  live: {
    name: "This turn",
    says: "Words of the turn that runs: your input, answers, tool calls and results.",
  },
  recall: {
    name: "Found again",
    says: "An older passage that the engine looked up, since it fits your input.",
  },
  fragment: {
    name: "Extra context",
    says: "A text that a plugin, an editor or another program adds to the turn.",
  },
  harness: {
    name: "Program's own",
    says: "What the program that runs the turn adds to the conversation by itself.",
  },
  settings: { name: "Setting", says: "A value that is no text for the model, such as its name or a limit." },
  framing: { name: "JSON between", says: "Brackets, commas and names of the format between the parts." },
  unread: {
    name: "Unreadable",
    says: "Stored bytes that are not complete, such as those of a capture that was cut.",
  },
};

/** Other words of the pages. */
export const TERMS = {
  request: {
    name: "Request",
    says: "One call of the model. A turn with tools has several: one for each step.",
  },
  turn: { name: "Turn", says: "Your input and all that the agent did until its answer." },
  compaction: {
    name: "Compaction",
    says: "Older messages are replaced by summaries, so that the conversation fits the model's window. Nothing is deleted.",
  },
  epoch: {
    name: "Epoch",
    says: "The time between two compactions, in which each request begins with the same words as the one before.",
  },
  cached: {
    name: "From the cache",
    says: "The provider had read these tokens a moment ago and charges a fraction of the price for them.",
  },
  miss: {
    name: "Cache miss",
    says: "The provider read again what it could have taken from its cache, since something before it changed.",
  },
  tokens: {
    name: "Tokens",
    says: "Pieces of words in which a model counts. About four letters each in English.",
  },
  leftOut: {
    name: "Left out",
    says: "Messages of the conversation that this request did not hold, and where they are now.",
  },
  summarized: {
    name: "In a summary",
    says: "The request has a summary of the message in place of its words.",
  },
  evicted: {
    name: "No space",
    says: "The message did not fit, and no summary covers it yet. It is still in the conversation.",
  },
  obsolete: {
    name: "Out of date",
    says: "A later message made it wrong, such as a file that was read again.",
  },
  trimmed: { name: "Shortened", says: "The message is there, but a part of it was cut." },
  "off-path": {
    name: "Another branch",
    says: "The message belongs to a branch that you left, by undo or by an edit.",
  },
  leaf: { name: "Summary of words", says: "A summary that was made of messages." },
  extractive: {
    name: "By extract",
    says: "A summary of sentences that were copied, without a call of a model.",
  },
  lane: {
    name: "Lane",
    says: "Who compacted: the host before a request, the engine, or the program itself.",
  },
  degraded: { name: "Degraded", says: "Something failed, and the turn continued without it." },
} as const satisfies Readonly<Record<string, Term>>;

export type TermId = keyof typeof TERMS;
