/**
 * The frame of a report: one HTML file without a script and without an address, whose own policy allows nothing but its style. Text is
 * only ever inserted through `text`.
 */
import { createHash } from "node:crypto";

const STYLE = `:root{color-scheme:light dark;font:15px/1.45 system-ui,sans-serif}
body{max-width:60rem;margin:0 auto;padding:1rem;background:light-dark(#fbfbf9,#16181b);color:light-dark(#1d2024,#e6e7e9)}
h1{font-size:1.3rem}h2{font-size:1.05rem;margin:1.6rem 0 .3rem;padding-top:.6rem;border-top:1px solid light-dark(#d9dbdd,#363b42)}
p,li{margin:.2rem 0;color:light-dark(#565d66,#a5adb7);overflow-wrap:anywhere}ul{padding-left:1.2rem}
h3,summary{margin:.6rem 0 .2rem;font-size:.9rem;font-weight:600}summary{cursor:pointer}
pre{margin:.2rem 0 .6rem;padding:.6rem;border:1px solid light-dark(#d9dbdd,#363b42);border-radius:5px;background:light-dark(#fff,#1e2125);
font:13px/1.5 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:isolate}`;

const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'`,
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

const MARKUP: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
/** Marks that turn or hide text around them. */
const DIRECTION = /[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u061c]/g;

function named(mark: string): string {
  const code = mark.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return `⟦U+${code.toString(16).toUpperCase().padStart(4, "0")}⟧`;
}

/** Text as HTML, with control characters and direction marks written out. */
export function text(value: string): string {
  return value
    .toWellFormed()
    .replaceAll("\r\n", "\n")
    .replace(CONTROLS, named)
    .replace(DIRECTION, named)
    .replace(/[&<>"']/g, (mark) => MARKUP[mark] ?? "");
}

/** Facts in one line. */
export function factsLine(values: readonly (string | undefined)[]): string {
  return `<p>${values
    .filter((value) => value !== undefined && value !== "")
    .map((value) => text(value ?? "").replace(/\s+/g, " "))
    .join(" · ")}</p>\n`;
}

export function head(title: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${text(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${text(title)}</h1>
`;
}

export const END = "</body>\n</html>\n";

/** Words below a heading; folded in where they are long. */
export function words(title: string, content: string): string {
  const lines = `<pre>${text(content)}</pre>\n`;
  if (content.length <= FOLDED) return `<h3>${text(title)}</h3>\n${lines}`;
  return `<details><summary>${text(title)}, ${content.length.toLocaleString("en-US")} characters</summary>\n${lines}</details>\n`;
}

/** Characters of the longest words that are shown unfolded. */
const FOLDED = 4_000;
