/** What the doctor found: one line for a person. */
export interface Finding {
  level: "ok" | "info" | "warn" | "error";
  /** `node`, `config`, `home`, `store`, `programs`, `runtimes`, `models`, `engine`, `plugins`, `skills`. */
  check: string;
  detail: string;
  /** What to do; absent where nothing needs doing. */
  fix?: string;
  /** Where in a file; line and column from 1 on. */
  place?: { file: string; line: number; column: number };
  /** Of a file that was rewritten: its lines before and after. */
  diff?: string[];
}
