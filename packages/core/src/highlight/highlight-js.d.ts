/** The part of highlight.js that is used. Its own types bring those of a browser into the whole program (`tsconfig.json`, `paths`). */
export interface Language {
  readonly name?: string;
}

interface Highlighter {
  registerLanguage(name: string, language: (highlighter: Highlighter) => Language): void;
  getLanguage(name: string): Language | undefined;
  highlight(code: string, options: { language: string; ignoreIllegals: boolean }): { value: string };
}

/** The default export of `core` and, called with it, of each language. */
declare const highlighter: Highlighter & ((highlighter: Highlighter) => Language);
export default highlighter;
