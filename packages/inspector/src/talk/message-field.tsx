/** The lines that a user writes, with completions; they grow up to a third of the window. */
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { useCompletion } from "./completion.ts";
import { Offers } from "./offers.tsx";

const CHOICE_KEYS: ReadonlySet<string> = new Set(["ArrowDown", "ArrowUp", "Tab", "Enter", "Escape"]);

interface MessageFieldProps {
  field: RefObject<HTMLTextAreaElement | null>;
  text: string;
  placeholder: string;
  where: { agent: string; cwd: string | undefined };
  onWrite(text: string): void;
  onSubmit(): void;
  /** True where escape did something. */
  onEscape(): boolean;
  onFiles(files: readonly File[]): void;
}

function useHeight(field: RefObject<HTMLTextAreaElement | null>, text: string): void {
  useLayoutEffect(() => {
    const element = field.current;
    if (!element) return;
    element.style.height = "auto";
    element.style.height = `${Math.min(element.scrollHeight + 2, innerHeight * 0.35)}px`;
  }, [text]);
}

/** Completions at the cursor, the chosen one, and the keys that choose. */
function useOffers({ field, text, where, onWrite }: MessageFieldProps) {
  const [cursor, setCursor] = useState(0);
  const [active, setActive] = useState(0);
  const { found, close } = useCompletion(text.slice(0, cursor), where);
  useEffect(() => setActive(0), [found]);
  const complete = (at: number): void => {
    const offer = found?.offers[at];
    if (!found || !offer) return;
    const end = found.from + offer.put.length;
    onWrite(text.slice(0, found.from) + offer.put + text.slice(found.to));
    setCursor(end);
    requestAnimationFrame(() => {
      field.current?.focus();
      field.current?.setSelectionRange(end, end);
    });
  };
  /** True where the key chose. */
  const onKey = (key: string): boolean => {
    if (!found || !CHOICE_KEYS.has(key)) return false;
    const count = found.offers.length;
    if (key === "Escape") close();
    else if (key === "ArrowDown") setActive((active + 1) % count);
    else if (key === "ArrowUp") setActive((active + count - 1) % count);
    else complete(active);
    return true;
  };
  return { found, active, complete, onKey, setCursor };
}

export function MessageField(props: MessageFieldProps) {
  const { field, text, placeholder, onWrite, onSubmit, onEscape, onFiles } = props;
  const { found, active, complete, onKey, setCursor } = useOffers(props);
  useHeight(field, text);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.isComposing) return;
    const isTaken = onKey(event.key) || (event.key === "Escape" && onEscape());
    if (!isTaken && (event.key !== "Enter" || event.shiftKey)) return;
    event.preventDefault();
    if (!isTaken) onSubmit();
  };
  return (
    <>
      <Offers found={found} active={active} onChoose={complete} />
      <textarea
        id="message"
        ref={field}
        rows={1}
        dir="auto"
        aria-label="Message"
        placeholder={placeholder}
        value={text}
        aria-autocomplete="list"
        aria-controls={found ? "offers" : undefined}
        aria-activedescendant={found ? `offer-${active}` : undefined}
        onInput={({ currentTarget }) => {
          onWrite(currentTarget.value);
          setCursor(currentTarget.selectionStart);
        }}
        onSelect={({ currentTarget }) => setCursor(currentTarget.selectionStart)}
        onKeyDown={onKeyDown}
        onPaste={(event) => {
          const pasted = [...(event.clipboardData?.files ?? [])];
          if (pasted.length === 0) return;
          event.preventDefault();
          onFiles(pasted);
        }}
      />
    </>
  );
}
