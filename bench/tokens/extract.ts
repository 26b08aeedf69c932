/** Extracts plain sentences from texts that mix them with code. */

/** Paragraphs of a Markdown text: no code, tables, lists, headings or lines that are mostly links. */
export function proseOfMarkdown(text: string): string {
  const paragraphs: string[] = [];
  let fenced = false;
  for (const line of text.split("\n")) {
    if (/^\s*(```|~~~)/.test(line)) fenced = !fenced;
    else if (!fenced && /^[A-Z]/.test(line) && line.length > 60 && !/\]\(|\||<\w/.test(line)) {
      paragraphs.push(line);
    }
  }
  return paragraphs.join("\n\n");
}

/** Sentences of documentation comments, without tags and examples. */
export function proseOfComments(text: string): string {
  const paragraphs: string[] = [];
  for (const [comment] of text.matchAll(/\/\*\*[\s\S]*?\*\//g)) {
    let fenced = false;
    const kept: string[] = [];
    for (const raw of comment.split("\n")) {
      const line = raw.replace(/^\s*(\/\*\*|\*\/|\*)\s?/, "").replace(/\s*\*\/$/, "");
      if (line.startsWith("```")) fenced = !fenced;
      else if (!fenced && /^[A-Za-z`]/.test(line) && !line.startsWith("@")) kept.push(line);
    }
    const paragraph = kept.join("\n");
    if (paragraph.length > 120) paragraphs.push(paragraph);
  }
  return paragraphs.join("\n\n");
}

/** The string literals of a program that contain letters beyond ASCII, one a line. */
export function stringsBeyondAscii(code: string): string {
  const literals = code.match(/(["`])(?:(?!\1)[^\n])*\1/g) ?? [];
  return literals
    .filter((literal) => /[^ -~]/.test(literal))
    .map((literal) => literal.slice(1, -1))
    .join("\n");
}
