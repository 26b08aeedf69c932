/**
 * Which further words a prefix rule of git (`git log *`) covers. Git runs programs that its options, its configuration and its
 * addresses name, so the rule is closed: options before the subcommand are covered if they are known to run nothing, a
 * subcommand if it is one of git's own that runs no program named by an argument.
 */

/** Options before the subcommand that change only how git prints or reads patterns. */
const HARMLESS_BEFORE = new Set(
  "--no-pager -P --no-optional-locks --no-replace-objects --no-lazy-fetch --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs --version -v".split(
    " ",
  ),
);
/**
 * Subcommands that `git *` covers. Others are aliases and programs beside git (`git-foo`), or run what an argument names: `bisect run`,
 * `submodule foreach`, `config`, `difftool`, `filter-branch`, `for-each-repo`, `hook`.
 */
const COVERED = new Set(
  "add am annotate apply archive blame branch cat-file check-attr check-ignore checkout cherry cherry-pick clean commit count-objects describe diff diff-files diff-index diff-tree fetch for-each-ref format-patch fsck gc grep log ls-files ls-remote ls-tree merge merge-base mv name-rev prune pull push range-diff rebase reflog remote reset restore rev-list rev-parse revert rm shortlog show show-branch show-ref sparse-checkout stash status switch symbolic-ref tag verify-commit verify-tag version whatchanged worktree".split(
    " ",
  ),
);
/** Options that run a program, read a configuration or write a file; git accepts abbreviations of long ones. */
const RISKS =
  "--open-files-in-pager --upload-pack --receive-pack --exec --exec-path --ext-diff --extcmd --textconv --output --config --config-env --template --tool --paginate --edit-description --gpg-sign --show-signature".split(
    " ",
  );
/** The same as single letters, by subcommand; they may be part of a group (`-ix`). */
const RISKY_LETTERS: Readonly<Record<string, string>> = {
  archive: "o",
  "format-patch": "o",
  clone: "uc",
  difftool: "x",
  rebase: "x",
  "ls-remote": "u",
};
/** `-O` opens a pager or reads an order of files. */
const RISKY_EVERYWHERE = "O";
/** Text that the shell may expand to any option: a variable, a file name, an escape, braces. */
const EXPANDED = /[$\\{}`]|(?:^|\s)(?:-\S*)?[*?[]/;
/** `ext::sh -c …`: an address that names a program. */
const HELPER_ADDRESS = /^[a-z0-9][a-z0-9+.-]*::/i;

function isRiskyOption(word: string, letters: string): boolean {
  const [option = ""] = word.split("=");
  if (option.startsWith("--"))
    return (
      option.length > 2 && RISKS.some((risk) => risk.startsWith(option) || option.startsWith(`${risk}-`))
    );
  return [...letters].some((letter) => new RegExp(`^-\\w*${letter}`).test(option));
}

/**
 * Whether words after a covered prefix may make git run another program, read another configuration or write a file. `prefix`: the
 * rule's own words, which the user wrote, from `git` on.
 */
export function isRiskyGit(prefix: readonly string[], further: string): boolean {
  const plain = further.replaceAll(/["']/g, "");
  if (EXPANDED.test(plain)) return true;
  const words = plain.split(/\s+/).filter((word) => word !== "");
  let subcommand = prefix.slice(1).find((word) => !word.startsWith("-"));
  if (subcommand === undefined) {
    const first = words.findIndex((word) => !HARMLESS_BEFORE.has(word));
    if (first < 0) return false;
    subcommand = words[first] ?? "";
    if (!COVERED.has(subcommand)) return true;
    words.splice(0, first + 1);
  }
  const letters = RISKY_EVERYWHERE + (RISKY_LETTERS[subcommand] ?? "");
  return words.some((word) => isRiskyOption(word, letters) || HELPER_ADDRESS.test(word));
}
