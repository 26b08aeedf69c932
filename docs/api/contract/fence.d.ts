/**
 * Escaping of text that is quoted inside a prompt, so that it can neither close its fence nor start a line that looks like a
 * new message. Byte-stable and reversible: one backslash before what would be read as structure.
 */
/**
 * Escapes text for use inside a fence. `fence`: name of the surrounding tag, if it is not one of the host's usual ones.
 */
export declare function quoted(text: string, fence?: string): string;
/**
 * A text from a file of the working folder, in an element with the path that it comes from; neither can close or imitate it. Every such
 * text enters a prompt through here. `trusted` false marks it as written by others than the user. For example
 * `<project_instructions path="/w/AGENTS.md" trusted="no">`.
 */
export declare function fencedFile(tag: string, { path, text, trusted }: {
    path: string;
    text: string;
    trusted?: boolean;
}): string;
/** A name for use inside a label, such as a call id: without brackets, blanks and line breaks. */
export declare function labelWord(word: string): string;
