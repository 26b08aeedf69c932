/** Colours of code whose library, of 21 languages, is loaded at the first code. */
import type { Highlight } from "./highlight.ts";

/** Until the library is loaded, lines have no colours; `loaded` is called when they can be drawn again. */
export function lazyHighlighter(loaded: () => void): Highlight {
  let highlight: Highlight | undefined;
  let loading: Promise<void> | undefined;
  const load = async (): Promise<void> => {
    const { highlighter } = await import("./highlight.ts");
    highlight = highlighter();
    loaded();
  };
  return (code, language) => {
    if (highlight) return highlight(code, language);
    // Code without colours is whole too; a damaged installation is reported by what needs it.
    if (language) loading ??= load().catch(() => undefined);
    return code.split("\n");
  };
}
