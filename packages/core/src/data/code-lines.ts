/** Fenced code blocks of Markdown: which lines of a text are code. */

const FENCE_START = /^\s*(`{3,}|~{3,})/;

/**
 * Returns a function that takes the lines of a text in order and returns whether each is one of a fenced block, fences included. A
 * fence of the other character, or a shorter one, is part of the block.
 */
export function codeLines(): (line: string) => boolean {
  let open: string | undefined;
  return (line) => {
    const mark = FENCE_START.exec(line)?.[1];
    if (open === undefined) {
      open = mark;
      return mark !== undefined;
    }
    if (mark?.startsWith(open) === true) open = undefined;
    return true;
  };
}
