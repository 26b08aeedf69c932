/**
 * Forms of words in languages of Latin script: words without meaning of their own (stop words), and endings that do not change
 * what a word is about. Letters without diacritics, as the index has them.
 */

import { isForeignStopWord } from "./stop-words.ts";

interface Language {
  stop: ReadonlySet<string>;
  /** Longest first. */
  endings: readonly string[];
}

function language(stop: string, endings: string): Language {
  const list = endings.split(" ").toSorted((a, b) => b.length - a.length);
  return { stop: new Set(stop.split(" ")), endings: list };
}

const ENGLISH = language(
  "a an the and or but if of at by for with about into to from in on up down out off over under again then once here there when " +
    "where why how what which who whom whose all any both each few more most other some such no nor not only own same so than too " +
    "very can could will would shall should may might must just don did do does doing done is am are was were be been being have " +
    "has had having i me my mine we us our ours you your yours he him his she her hers it its they them their theirs this that " +
    "these those as ever s t d ll re ve m",
  "ies ied ying ing ed ers er es ly s e y",
);

const GERMAN = language(
  "der die das den dem des ein eine einer eines einem einen und oder aber wenn wann wo wie was wer wen wem warum welche welcher " +
    "welches ich du er sie es wir ihr mich mir dich dir uns euch ihm ihn ihnen mein meine dein deine sein seine unser unsere ist " +
    "sind war waren bin bist hat haben habe hatte hatten wird werden wurde kann konnte soll sollte muss mit von zu zum zur im in " +
    "am an auf aus bei nach vor fur uber unter nicht kein keine auch noch schon nur so dass",
  "en ern er es em e n s",
);

/** English first: it is used where no other has more words of a text. */
const FORM_LANGUAGES: readonly Language[] = [
  ENGLISH,
  GERMAN,
  language(
    "le la les l un une des du de d et ou mais si quand ou comment quoi que qu qui quel quelle quels quelles pourquoi je tu il elle " +
      "nous vous ils elles me m te se s mon ma mes ton ta tes son sa ses notre votre leur leurs est sont etait etaient suis es a ai as " +
      "ont avait ete etre avoir avec pour par dans sur sous en au aux ne n pas ce cet cette ces c y plus",
    "es e s ees ee er ait ent",
  ),
  language(
    "el la los las un una unos unas y o pero si cuando donde como que quien cual cuales por para con de del al en a sobre yo tu el ella " +
      "nosotros vosotros ellos ellas me te se nos mi mis su sus es son era eran fue fueron soy eres ha han he hay habia no ni ya muy mas " +
      "este esta estos estas ese esa eso lo le les",
    "es s os as o a ar er ir ando iendo",
  ),
  language(
    "il lo la i gli le l un uno una e o ma se quando dove come che chi quale quali perche io tu lui lei noi voi loro mi ti si ci vi mio " +
      "mia tuo tua suo sua nostro vostro e sono era erano ho hai ha hanno aveva di da del della dei delle al alla in nel nella con su per " +
      "tra fra non piu questo questa questi queste",
    "i e o a are ere ire ando endo",
  ),
  language(
    "o a os as um uma e ou mas se quando onde como que quem qual quais por porque para com de do da dos das no na nos nas em ao eu tu " +
      "ele ela eles elas me te se nos meu minha seu sua e sao era eram foi foram tem tinha ha nao ja mais muito este esta isso",
    "es s os as o a ar er ir ando endo",
  ),
  language(
    "de het een en of maar als wanneer waar hoe wat wie welke welk waarom ik jij je hij zij ze wij we jullie mij me hem haar ons hun mijn " +
      "jouw zijn is was waren ben bent heeft heb hebben had hadden wordt worden kan kon zal zou moet met van naar in op aan uit bij voor " +
      "over onder niet geen ook nog al om te dat die dit deze er",
    "en ers er es e n s t",
  ),
];

/** Least letters of a word that is cut, and of what is left of it. */
const LEAST_WORD = 4;
const LEAST_STEM = 3;
const LONGEST = 24;
const VOWEL = /[aeiouy]/;
/** A consonant doubled before an ending, as in `planning`; `ll`, `ss` and `zz` mostly belong to the word. */
const DOUBLED = /([bdfgkmnprt])\1$/;

/** Endings of words in `y`: they are forms of each other only. */
const SOFT = /(?:ies|ied|ying|[^l]y|^y)$/;

/** Knows the forms of the words of one query. */
export class WordForms {
  readonly #language: Language;

  /** The language is the one with the most stop words among these words. */
  constructor(words: readonly string[]) {
    const stopWords = ({ stop }: Language): number => words.filter((word) => stop.has(word)).length;
    this.#language = FORM_LANGUAGES.reduce(
      (best, each) => (stopWords(each) > stopWords(best) ? each : best),
      ENGLISH,
    );
  }

  /** Whether the language writes every noun with a capital. */
  get hasCapitalNouns(): boolean {
    return this.#language === GERMAN;
  }

  /** Whether a word has no meaning of its own. */
  isStopWord(word: string): boolean {
    return this.#language.stop.has(word) || isForeignStopWord(word);
  }

  /** What the forms of a word begin with; undefined for numbers, names with signs, and short or very long words. */
  stem(word: string): string | undefined {
    if (word.length < LEAST_WORD || word.length > LONGEST || !/^[a-z]+$/.test(word)) return undefined;
    for (const ending of this.#language.endings) {
      const rest = word.slice(0, -ending.length);
      if (!word.endsWith(ending) || rest.length < LEAST_STEM || !VOWEL.test(rest)) continue;
      if (ending === "s" && rest.endsWith("s")) continue;
      return DOUBLED.test(rest) && rest.length > LEAST_STEM ? rest.slice(0, -1) : rest;
    }
    return word;
  }

  /** Other forms of a word with this stem, whether they exist or not: of `tidy` those with a `y` or an `i`, of `tide` the others. */
  formsOf(word: string, stem: string): string[] {
    const doubled = stem + stem.slice(-1);
    // Of `tide` no consonant is doubled; of `rid`, `rids` and `ridding` it is.
    const hasDoubled = word === stem || word === `${stem}s` || word.startsWith(doubled);
    const isSoft = SOFT.test(word);
    const endings = this.#language.endings.filter((ending) => SOFT.test(ending) === isSoft);
    const forms = (isSoft ? endings : ["", ...endings]).flatMap((ending) =>
      hasDoubled && !isSoft ? [stem + ending, doubled + ending] : [stem + ending],
    );
    return [...new Set(forms)].filter((form) => this.stem(form) === stem);
  }
}
