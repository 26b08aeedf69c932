/** The languages of made conversations. */
import { ARABIC } from "./arabic.ts";
import { CHINESE } from "./chinese.ts";
import { GREEK } from "./greek.ts";
import { HINDI } from "./hindi.ts";
import { JAPANESE } from "./japanese.ts";
import { KOREAN } from "./korean.ts";
import { RUSSIAN } from "./russian.ts";
import type { TalkLanguage } from "./talk-language.ts";
import { THAI } from "./thai.ts";

export const LANGUAGES: readonly TalkLanguage[] = [
  CHINESE,
  JAPANESE,
  KOREAN,
  THAI,
  RUSSIAN,
  GREEK,
  HINDI,
  ARABIC,
];
