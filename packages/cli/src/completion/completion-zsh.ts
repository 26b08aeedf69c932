import { posixQuoted, type CompletionNode, type CompletionOption } from "./completion-tree.ts";

/** Text inside the brackets of an _arguments specification. */
const inSpec = (text: string): string => text.replaceAll("\\", "\\\\").replace(/[[\]:]/g, "\\$&");

function valueSpec(option: CompletionOption): string {
  if (option.choices.length > 0) return `:value:(${option.choices.join(" ")})`;
  if (option.takes === "file") return ":file:_files";
  if (option.takes === "folder") return ":folder:_files -/";
  return option.takes === "text" ? ":value: " : "";
}

function optionSpecs(option: CompletionOption): string[] {
  const spec = `[${inSpec(option.description)}]${valueSpec(option)}`;
  const flags = option.short === undefined ? [option.long] : [option.short, option.long];
  return flags.map((flag) => posixQuoted(`${flag}${spec}`));
}

const functionName = (path: string): string => `_pagurus${path === "" ? "" : `_${path.replace(/\W/g, "_")}`}`;

function group(node: CompletionNode): string {
  const entries = node.subcommands.map(({ name, description }) =>
    posixQuoted(`${name}:${description.replaceAll(":", "\\:")}`),
  );
  const cases = node.subcommands.map(
    ({ name }) => `    ${name}) ${functionName(`${node.path} ${name}`.trim())} ;;`,
  );
  return `${functionName(node.path)}() {
  local curcontext="$curcontext" state line
  local -a commands
  commands=(${entries.join(" ")})
  _arguments -C ${node.options.flatMap(optionSpecs).join(" ")} '1: :->command' '*:: :->rest'
  case "$state" in
  command) _describe command commands ;;
  rest)
    case "$line[1]" in
${cases.join("\n")}
    esac ;;
  esac
}`;
}

function leaf(node: CompletionNode): string {
  const argument =
    node.words.length > 0 ? `:argument:(${node.words.join(" ")})` : node.files ? ":file:_files" : ":text: ";
  const specs = [...node.options.flatMap(optionSpecs), posixQuoted(`*${argument}`)];
  return `${functionName(node.path)}() {
  _arguments ${specs.join(" ")}
}`;
}

export function zshScript(tree: readonly CompletionNode[]): string {
  const functions = tree.map((node) => (node.subcommands.length > 0 ? group(node) : leaf(node)));
  return `#compdef pagurus
# zsh completion for pagurus; made by: pagurus completion zsh
${functions.join("\n")}
if [ "$funcstack[1]" = "_pagurus" ]; then
  _pagurus "$@"
else
  compdef _pagurus pagurus
fi
`;
}
