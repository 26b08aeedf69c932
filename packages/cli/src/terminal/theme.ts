/** Colours of the terminal view. Without colours every function returns its text. */
import { styleText } from "node:util";
import type { EditorTheme, MarkdownTheme, SelectListTheme } from "@earendil-works/pi-tui";

type Format = Parameters<typeof styleText>[0];
export type Paint = (text: string) => string;

export interface Theme {
  bold: Paint;
  dim: Paint;
  accent: Paint;
  good: Paint;
  bad: Paint;
  warning: Paint;
  /** Lines of a diff. */
  added: Paint;
  removed: Paint;
  editor: EditorTheme;
  list: SelectListTheme;
  markdown: MarkdownTheme;
}

/** Mark of a line of Markdown that is not shown; a word joiner, which has no width. */
export const NO_LINE = "\u2060";

/** `highlight`: colours the lines of a code block, where a highlighter is loaded. */
export function themeOf(colours: boolean, highlight?: MarkdownTheme["highlightCode"]): Theme {
  const paint =
    (format: Format): Paint =>
    (text) =>
      colours && text !== "" ? styleText(format, text, { validateStream: false }) : text;
  const plain: Paint = (text) => text;
  const dim = paint("dim");
  const bold = paint("bold");
  const accent = paint("cyan");
  const list: SelectListTheme = {
    selectedPrefix: accent,
    selectedText: paint(["bold", "cyan"]),
    description: dim,
    scrollInfo: dim,
    noMatch: dim,
  };
  return {
    bold,
    dim,
    accent,
    good: paint("green"),
    bad: paint("red"),
    warning: paint("yellow"),
    added: paint("green"),
    removed: paint("red"),
    list,
    editor: { borderColor: dim, selectList: list },
    markdown: {
      heading: paint(["bold", "cyan"]),
      link: paint("underline"),
      linkUrl: dim,
      code: paint("cyan"),
      codeBlock: plain,
      // The language above the code in place of the backticks; the line without words is left out.
      codeBlockBorder: (fence) => (fence === "```" ? NO_LINE : dim(fence.slice(3))),
      quote: paint("italic"),
      quoteBorder: dim,
      hr: dim,
      listBullet: accent,
      bold,
      italic: paint("italic"),
      strikethrough: paint("strikethrough"),
      underline: paint("underline"),
      ...(colours && highlight ? { highlightCode: highlight } : {}),
    },
  };
}
