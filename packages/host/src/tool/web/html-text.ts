/** Converts a web page to readable text: headings, lists, links and code stay recognizable. Linear time. */

const SKIPPED = new Set(["script", "style", "noscript", "template", "svg", "iframe", "object"]);
const BLOCKS = new Set(
  "address article aside blockquote body dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 head header hr html li main nav ol p pre section summary table tbody thead tfoot title tr ul".split(
    " ",
  ),
);
const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
  ndash: "–",
  mdash: "—",
  hellip: "…",
  lsquo: "‘",
  rsquo: "’",
  ldquo: "“",
  rdquo: "”",
  copy: "©",
  reg: "®",
  trade: "™",
  middot: "·",
  bull: "•",
  laquo: "«",
  raquo: "»",
  times: "×",
  euro: "€",
  para: "¶",
  sect: "§",
  rarr: "→",
  larr: "←",
};
/** Characters of one tag that are parsed for attributes. */
const MOST_TAG = 4_096;

function decodeEntities(text: string): string {
  return text.replaceAll(
    /&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([a-zA-Z]{2,8}));/g,
    (whole, dec, hex, name) => {
      if (typeof name === "string") return (Object.hasOwn(ENTITIES, name) && ENTITIES[name]) || whole;
      const code = typeof dec === "string" ? Number(dec) : Number.parseInt(String(hex), 16);
      return code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
        ? String.fromCodePoint(code)
        : whole;
    },
  );
}

function linkTarget(tag: string, base: URL): string | undefined {
  const match = /\shref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/i.exec(tag.slice(0, MOST_TAG));
  const written = decodeEntities(match?.[1] ?? match?.[2] ?? match?.[3] ?? "");
  if (written === "" || written.startsWith("#")) return undefined;
  const url = URL.parse(written, base.href);
  return url?.protocol === "http:" || url?.protocol === "https:" ? url.href : undefined;
}

/** Accumulates the text, with at most one blank line between blocks. */
class PageText {
  #parts: string[] = [];
  /** Pending white space before the next word. */
  #gap: "" | " " | "\n" | "\n\n" = "";
  #pre = 0;
  #link: string | undefined;

  add(raw: string): void {
    const text = decodeEntities(raw);
    if (this.#pre > 0) {
      this.#put(text);
      return;
    }
    const words = text.replaceAll(/\s+/g, " ");
    if (words.startsWith(" ")) this.#space(" ");
    if (words.trim() !== "") this.#put(words.trim());
    if (words.length > 1 && words.endsWith(" ")) this.#space(" ");
  }

  open(name: string, tag: string, base: URL): void {
    if (BLOCKS.has(name)) this.#space(name === "li" || name === "tr" || name === "dt" ? "\n" : "\n\n");
    if (name === "br") this.#space("\n");
    const level = /^h([1-6])$/.exec(name)?.[1];
    if (level !== undefined) this.#put(`${"#".repeat(Number(level))} `);
    if (name === "li") this.#put("- ");
    if (name === "hr") this.#put("---");
    if (name === "td" || name === "th") {
      this.#space(" ");
      this.#put("| ");
    }
    if (name === "pre") {
      this.#put("```\n");
      this.#pre += 1;
    }
    if (name === "a" && this.#link === undefined) {
      this.#link = linkTarget(tag, base);
      if (this.#link !== undefined) this.#put("[");
    }
  }

  close(name: string): void {
    if (name === "pre" && this.#pre > 0) {
      this.#pre -= 1;
      this.#parts.push("\n```");
    }
    if (name === "a" && this.#link !== undefined) {
      this.#parts.push(`](${this.#link})`);
      this.#link = undefined;
    }
    if (BLOCKS.has(name)) this.#space(name === "li" || name === "tr" ? "\n" : "\n\n");
  }

  text(): string {
    return this.#parts
      .join("")
      .replaceAll(/\[\s*\]\([^)\s]*\)/g, "")
      .replaceAll(/[ \t]+\n/g, "\n")
      .replaceAll(/\n{3,}/g, "\n\n")
      .trim();
  }

  #put(text: string): void {
    if (this.#parts.length > 0) this.#parts.push(this.#gap);
    this.#gap = "";
    this.#parts.push(text);
  }

  #space(gap: " " | "\n" | "\n\n"): void {
    if (gap.length > this.#gap.length || (gap === "\n" && this.#gap === " ")) this.#gap = gap;
  }
}

/** The index after the end of an element whose content is not shown. */
function afterElement(html: string, name: string, from: number): number {
  const end = new RegExp(`</${name}[^>]*>?`, "gi");
  end.lastIndex = from;
  const match = end.exec(html);
  return match ? match.index + match[0].length : html.length;
}

export function htmlText(html: string, base: URL): string {
  const page = new PageText();
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf("<", at);
    if (open === -1) break;
    page.add(html.slice(at, open));
    if (html.startsWith("<!--", open)) {
      const end = html.indexOf("-->", open + 4);
      at = end === -1 ? html.length : end + 3;
      continue;
    }
    const name = /^<\/?([a-zA-Z][a-zA-Z0-9-]{0,30})/.exec(html.slice(open, open + 40))?.[1]?.toLowerCase();
    const end = html.indexOf(">", open);
    if (end === -1) {
      at = open;
      break;
    }
    at = end + 1;
    if (name === undefined) {
      // `<!doctype …>` and `<?xml …?>` are dropped; a lone `<` is text.
      if (!/^<[!?/]/.test(html.slice(open, open + 2))) {
        page.add("<");
        at = open + 1;
      }
      continue;
    }
    if (html.charAt(open + 1) === "/") page.close(name);
    else if (SKIPPED.has(name)) at = afterElement(html, name, at);
    else page.open(name, html.slice(open, end), base);
  }
  if (at < html.length) page.add(html.slice(at));
  return page.text();
}
