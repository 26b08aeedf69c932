/**
 * Separates a person's own text from the data in a user message. The host marks data where an input is made
 * (`TextPart.source`); older transcripts are parsed by the form of their parts. Only a person's own text may become requests or
 * constraints in a summary; whatever comes from data names its source.
 */
import type { TextPart, UserMessage } from "./message.ts";
export interface InputData {
    /** `file src/a.ts`, `standard input`, `quoted text`. */
    source: string;
    /** Without the tags around it. */
    text: string;
}
export interface InputWords {
    /** The person's part of the message as it was written, quoted lines included. */
    typed: string;
    /** The person's own text: `typed` without what it quotes of others. */
    words: string;
    attached: InputData[];
    /** Attached data first, then quoted data. */
    data: InputData[];
}
/** Where data comes from: a file, a pipe, a command of the person, or other people, whose names and addresses `sender` has. */
export type DataOrigin = {
    path: string;
} | {
    command: string;
} | {
    sender: string;
} | "stdin";
/** The part of an input that holds data: an attached file, text piped in with the prompt, what other people wrote. */
export declare function dataPart(from: DataOrigin, text: string): TextPart;
/** Splits a user's message into text and data. A fragment of additional context has no text of the person. */
export declare function inputWords({ content, fragment }: UserMessage): InputWords;
/** Data as a summary shows it: its source, then each of its lines after a mark, so that none can be a heading. */
export declare function attributed(source: string, text: string): string;
