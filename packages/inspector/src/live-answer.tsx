/** The words of the turn that runs, as they come, and of the last one until the next begins. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { visible } from "./plain-text.ts";
import { onSessionEvent, type SessionPlace } from "./session-events.ts";

/** Characters of the end that are shown; the whole answer is in the transcript. */
const MOST_CHARS = 20_000;

export function LiveAnswer({ agent, sessionKey }: SessionPlace) {
  const [words, setWords] = useState("");
  const box = useRef<HTMLPreElement>(null);
  useEffect(() => {
    let text = "";
    let frame: number | undefined;
    const show = (): void => {
      frame ??= requestAnimationFrame(() => {
        frame = undefined;
        setWords(text);
      });
    };
    setWords("");
    const forget = onSessionEvent(({ event }) => {
      if (event.type === "turn.started") text = "";
      else if (event.type === "tool.started" && !text.endsWith("\n")) text += text === "" ? "" : "\n\n";
      else if (event.type === "text.delta") text = (text + event.delta).slice(-MOST_CHARS);
      else return;
      show();
    });
    return () => {
      forget();
      if (frame !== undefined) cancelAnimationFrame(frame);
    };
  }, [agent, sessionKey]);
  useLayoutEffect(() => {
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [words]);
  if (words === "") return null;
  return (
    <pre class="words live" tabIndex={0} aria-label="Answer" ref={box}>
      {visible(words)}
    </pre>
  );
}
