/**
 * Markdown as elements. The parser's tokens become elements one by one and text stays text, so nothing that a model writes is ever read as
 * HTML; links lead to the web and to mail alone, and pictures are links.
 */
import { marked, type Token, type Tokens } from "marked";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { visible } from "../plain-text.ts";
import { CodeBlock } from "./code-block.tsx";

const SAFE = /^(?:https?:\/\/|mailto:)/i;

export function Markdown({ text, isLive }: { text: string; isLive: boolean }) {
  const tokens = useMemo(() => marked.lexer(text, { gfm: true }), [text]);
  return <div class="prose">{tokens.map((token, at) => block(token, at, isLive))}</div>;
}

function words(text: string): string {
  return visible(text);
}

/** Text of a token in which the parser has written entities for some marks. */
function plain(text: string): string {
  return words(
    text
      .replaceAll("&lt;", "<")
      .replaceAll("&gt;", ">")
      .replaceAll("&quot;", '"')
      .replaceAll("&#39;", "'")
      .replaceAll("&amp;", "&"),
  );
}

function block(token: Token, key: number, isLive: boolean): ComponentChildren {
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading":
      return heading(token as Tokens.Heading, key);
    case "paragraph":
      return (
        <p key={key} dir="auto">
          {inlines(token.tokens)}
        </p>
      );
    case "text":
      // Of a tight list.
      return <span key={key}>{ofText(token as Tokens.Text)}</span>;
    case "code":
      return (
        <CodeBlock
          key={key}
          code={(token as Tokens.Code).text}
          language={(token as Tokens.Code).lang}
          isLive={isLive}
        />
      );
    case "blockquote":
      return (
        <blockquote key={key} dir="auto">
          {(token.tokens ?? []).map((each, at) => block(each, at, isLive))}
        </blockquote>
      );
    case "list":
      return list(token as Tokens.List, key, isLive);
    case "table":
      return table(token as Tokens.Table, key);
    case "hr":
      return <hr key={key} />;
    default:
      // HTML, and what a later parser may add: its text.
      return (
        <p key={key} dir="auto">
          {words(token.raw)}
        </p>
      );
  }
}

function heading({ depth, tokens }: Tokens.Heading, key: number): ComponentChildren {
  // The page itself has the first two levels.
  const Tag = (["h3", "h3", "h4", "h5", "h6", "h6"] as const)[depth - 1] ?? "h6";
  return (
    <Tag key={key} dir="auto" class={`h${depth}`}>
      {inlines(tokens)}
    </Tag>
  );
}

function list({ ordered, start, items }: Tokens.List, key: number, isLive: boolean): ComponentChildren {
  const rows = items.map((item, at) => (
    <li key={at} dir="auto" class={item.task ? "task" : undefined}>
      {item.task ? (
        <input type="checkbox" checked={item.checked === true} disabled aria-label="Task" />
      ) : null}
      {item.tokens.map((token, index) => block(token, index, isLive))}
    </li>
  ));
  return ordered ? (
    <ol key={key} start={start === "" ? 1 : start}>
      {rows}
    </ol>
  ) : (
    <ul key={key}>{rows}</ul>
  );
}

function table({ header, rows, align }: Tokens.Table, key: number): ComponentChildren {
  const cells = (of: readonly Tokens.TableCell[], Tag: "td" | "th"): ComponentChildren =>
    of.map(({ tokens }, at) => (
      <Tag key={at} dir="auto" class={align[at] ? `to-${align[at]}` : undefined}>
        {inlines(tokens)}
      </Tag>
    ));
  return (
    <div key={key} class="table-frame" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>{cells(header, "th")}</tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>{cells(row, "td")}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function ofText({ tokens, text }: Tokens.Text): ComponentChildren {
  return tokens ? inlines(tokens) : plain(text);
}

function inlines(tokens: readonly Token[] | undefined): ComponentChildren {
  return (tokens ?? []).map((token, at) => inline(token, at));
}

function inline(token: Token, key: number): ComponentChildren {
  switch (token.type) {
    case "text":
      return ofText(token as Tokens.Text);
    case "escape":
      return plain((token as Tokens.Escape).text);
    case "strong":
      return <strong key={key}>{inlines(token.tokens)}</strong>;
    case "em":
      return <em key={key}>{inlines(token.tokens)}</em>;
    case "del":
      return <s key={key}>{inlines(token.tokens)}</s>;
    case "codespan":
      return <code key={key}>{plain((token as Tokens.Codespan).text)}</code>;
    case "br":
      return <br key={key} />;
    case "link":
      return link((token as Tokens.Link).href, inlines(token.tokens), key);
    case "image": {
      const { href, text } = token as Tokens.Image;
      return link(href, `Picture: ${plain(text === "" ? href : text)}`, key);
    }
    default:
      return words(token.raw);
  }
}

/** Where it leads is said by the browser, and nothing of this page is sent there. */
function link(href: string, text: ComponentChildren, key: number): ComponentChildren {
  if (!SAFE.test(href)) return <span key={key}>{text}</span>;
  return (
    <a key={key} href={href} target="_blank" rel="noopener noreferrer nofollow" title={words(href)}>
      {text}
    </a>
  );
}
