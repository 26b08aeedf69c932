/** Code with a button that copies it. Its colours come from a worker that is loaded when the first code is shown. */
import type { CodePiece } from "@pagurus/core/highlight/highlighted-code";
import { useEffect, useState } from "preact/hooks";
import { visible } from "../plain-text.ts";
import { coloured } from "./coloured.ts";
import { CopyButton } from "./copy-button.tsx";

/** Longer code has no colours, in characters. */
const MOST_CHARS = 60_000;

export function CodeBlock({
  code,
  language,
  isLive,
}: {
  code: string;
  language?: string | undefined;
  isLive: boolean;
}) {
  const [name = ""] = (language ?? "").split(/\s/);
  const pieces = usePieces(code, name, isLive);
  return (
    <div class="code">
      <div class="code-head">
        <span>{visible(name === "" ? "text" : name)}</span>
        <CopyButton text={code} label="Copy the code" />
      </div>
      <pre tabIndex={0} aria-label={name === "" ? "Code" : `Code, ${name}`} dir="ltr">
        <code>
          {pieces
            ? pieces.map(({ text, kind }, at) =>
                kind === undefined ? (
                  text
                ) : (
                  <span key={at} data-code={kind}>
                    {text}
                  </span>
                ),
              )
            : visible(code)}
        </code>
      </pre>
    </div>
  );
}

/** Colours once the code does not grow any more, in a moment when the browser has nothing else to do. */
function usePieces(code: string, language: string, isLive: boolean): readonly CodePiece[] | undefined {
  const [made, setMade] = useState<{ of: string; pieces: readonly CodePiece[] }>();
  useEffect(() => {
    if (isLive || language === "" || code.length > MOST_CHARS) return undefined;
    let isWanted = true;
    const idle = requestIdleCallback(
      () => {
        if (!isWanted) return;
        void coloured(visible(code), language).then((pieces) => {
          if (pieces && isWanted) setMade({ of: code, pieces });
        });
      },
      { timeout: 500 },
    );
    return () => {
      isWanted = false;
      cancelIdleCallback(idle);
    };
  }, [code, language, isLive]);
  return made?.of === code ? made.pieces : undefined;
}
