/** How words of other alphabets than Latin are formed, where spaces are between words. */
import { fold, isLatin } from "./fold.ts";

/** How the words of an alphabet are formed. */
export interface Alphabet {
  letters: RegExp;
  /** Endings by kinds of words, each with all that a word of that kind may have, also none. Folded. */
  kinds: readonly ReadonlySet<string>[];
  /** Words that are written as one with the next word, none included; the article is the second. Folded. */
  before: readonly string[];
  /** Those of them that hardly belong to the word itself. */
  articles: readonly string[];
  /** Least letters of the rest of a word, and of one without its beginning. */
  least: { plain: number; cut: number };
  /** Letters that a word may have in place of folded ones: signs are left out by some, or move. */
  signs: Readonly<Record<string, string>>;
  /** Signs are looked for only in the first letter. */
  isSignFirst: boolean;
  /** Letters that are written in another way at the end of a word. */
  finals: Readonly<Record<string, string>>;
}

function endings(text: string): ReadonlySet<string> {
  return new Set(["", ...text.split(" ").map(fold)]);
}

/** The same without the word that has no ending. */
function verbs(text: string, reflexive: readonly string[] = []): ReadonlySet<string> {
  const plain = text.split(" ").map(fold);
  return new Set(["", ...reflexive].flatMap((after) => plain.map((ending) => ending + after)));
}

const NOTHING = { before: [""], articles: [], isSignFirst: false, finals: {} };

function readAlphabets(): readonly Alphabet[] {
  return [
    {
      ...NOTHING,
      letters: /^\p{Script=Cyrillic}+$/u,
      kinds: [
        // Nouns, of Russian and Ukrainian.
        endings(
          "а я о е ё ы и у ю ь й ой ою ей ею ом ем ём ам ям ами ями ах ях ов ев ёв ия ию ие ии ий ием иям иями иях " +
            "і ї єю єм ів їв ові еві єві",
        ),
        // Adjectives.
        verbs("ый ий ой ая яя ое ее ые ие ого его ому ему ым им ом ем ую юю ых их ыми ими ою ею і ій а е у"),
        verbs(
          "ать ал ала ало али аю аешь ает аем аете ают ять ял яла яло яли яю яешь яет яем яете яют " +
            "ав аєш ає аємо аєте ають ати ти яв яти яє яють ай айте",
          ["ся", "сь"],
        ),
        verbs("ить ил ила ило или лю ю у ишь ит им ите ят ат ити ив иш ить имо ять ать", ["ся", "сь"]),
        verbs("еть ел ела ело ели ею еешь еет еем еете еют ешь ет ем ете ут ют у ю", ["ся", "сь"]),
      ],
      least: { plain: 3, cut: 3 },
      signs: { е: "ё", и: "йї" },
    },
    {
      ...NOTHING,
      letters: /^\p{Script=Greek}+$/u,
      kinds: [
        verbs("ος ου ο ε οι ων ους α ας ες η ης εις εως εων ηδες ηδων άδες άδων ι ιου ια ιων"),
        verbs("μα ματος ματα μάτων"),
        verbs(
          "ω εις ει ουμε ετε ουν ουνε α ες ε αμε ατε αν άω άς ά άμε άτε άνε ούσα ούσε ήσω ησα ησες ησε ήσαμε ησαν",
        ),
        verbs(
          "σα σες σε σαμε σατε σαν σω σεις σει σουμε σετε σουν ζω ζεις ζει ζουμε ζετε ζουν ζα ζε ζαμε ζαν",
        ),
      ],
      least: { plain: 3, cut: 3 },
      signs: { α: "ά", ε: "έ", η: "ή", ι: "ίϊΐ", ο: "ό", υ: "ύϋΰ", ω: "ώ" },
    },
    {
      letters: /^\p{Script=Hebrew}+$/u,
      kinds: [endings("י ו ה כ נו כמ המ הנ מ נ ימ ות ית ת יו יה ייכ ינו יהמ תי תו תה תכ תנו ותי ותיו תמ")],
      before: ["", "ה", "ו", "ב", "ל", "מ", "ש", "כ", "וה", "שה"],
      articles: ["ה", "וה", "שה"],
      least: { plain: 2, cut: 3 },
      signs: {},
      isSignFirst: true,
      finals: { ך: "כ", ם: "מ", ן: "נ", ף: "פ", ץ: "צ" },
    },
    {
      letters: /^\p{Script=Arabic}+$/u,
      kinds: [endings("ي ك ه ها هم هن كم نا ة ت تي تك ته تها تنا تهم ات اتي ون ين ان ا وا تم")],
      before: ["", "ال", "و", "ب", "ل", "وال", "بال", "لل"],
      articles: ["ال", "وال", "بال", "لل"],
      least: { plain: 3, cut: 3 },
      signs: { ا: "أإ" },
      isSignFirst: true,
      finals: {},
    },
  ];
}

/** Made at the first word of another alphabet than Latin: most conversations have none. */
let alphabets: readonly Alphabet[] | undefined;

/** The alphabet of a word; undefined where it is not known. */
export function alphabetOf(word: string): Alphabet | undefined {
  if (isLatin(word)) return undefined;
  alphabets ??= readAlphabets();
  return alphabets.find(({ letters }) => letters.test(word));
}
