#include <fmt/format.h>

#include <algorithm>

#include "base/memory_stream.h"
#include "kube/kubeconfig.h"
#include "pipeline/commands.h"

namespace kollect::pipeline {
namespace {

constexpr std::string_view kBash = R"SH(_kollect() {
  local words
  words=$("${COMP_WORDS[0]}" __complete "$COMP_CWORD" "${COMP_WORDS[@]:1}" 2>/dev/null)
  local IFS=$'\n'
  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
  if [ ${#COMPREPLY[@]} -eq 0 ]; then COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")); fi
}
complete -F _kollect kollect kollect-pipeline
)SH";

constexpr std::string_view kZsh = R"SH(#compdef kollect kollect-pipeline
_kollect() {
  local -a found
  found=("${(@f)$("${words[1]}" __complete "$((CURRENT-1))" "${(@)words[2,-1]}" 2>/dev/null)}")
  compadd -a found || _files
}
compdef _kollect kollect kollect-pipeline
)SH";

constexpr std::string_view kFish = R"SH(function __kollect_words
  set -l tokens (commandline -opc) (commandline -ct)
  $tokens[1] __complete (math (count $tokens) - 1) $tokens[2..-1] 2>/dev/null
end
complete -c kollect -a '(__kollect_words)'
complete -c kollect-pipeline -a '(__kollect_words)'
)SH";

constexpr std::string_view kPowershell =
    R"SH(Register-ArgumentCompleter -Native -CommandName kollect, kollect-pipeline -ScriptBlock {
  param($word, $ast, $position)
  $tokens = @($ast.CommandElements | ForEach-Object { $_.ToString() })
  $index = if ($word) { $tokens.Count - 1 } else { $tokens.Count }
  $rest = @($tokens | Select-Object -Skip 1)
  & $tokens[0] __complete $index @rest 2>$null | Where-Object { $_ -like "$word*" } |
    ForEach-Object { [System.Management.Automation.CompletionResult]::new($_) }
}
)SH";

std::vector<std::string> contexts(const Invocation& invocation,
                                  const std::vector<std::string>& words) {
  std::string path;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "--kubeconfig") path = words[i + 1];
  }
  const auto config = kube::Kubeconfig::load_default(path, invocation.env);
  return config ? config->context_names() : std::vector<std::string>();
}

std::vector<std::string> values_of(const Invocation& invocation,
                                   const std::vector<std::string>& words, std::string_view flag,
                                   const std::string& begun) {
  if (flag == "--context") {
    // Behind the last comma of a list.
    const std::size_t comma = begun.rfind(',');
    const std::string kept = comma == std::string::npos ? "" : begun.substr(0, comma + 1);
    std::vector<std::string> names = contexts(invocation, words);
    for (std::string& name : names) name = kept + name;
    return names;
  }
  if (flag == "--format") return {"ndjson", "yaml", "json", "rows"};
  if (flag == "--log-level") return {"debug", "info", "warn", "error"};
  if (flag == "--log-format") return {"text", "json"};
  if (flag == "--summary") return {"text", "json", "none"};
  if (flag == "--layout") return {"document", "perResource", "split"};
  if (flag == "--attributes") return {"preset", "all", "none"};
  return {};
}

/// The words below a heading like "Subcommands:", one a line.
void add_subcommands(std::vector<std::string>& found, const std::string& help) {
  const std::size_t heading = help.find("\nSubcommands:\n");
  if (heading == std::string::npos) return;
  std::size_t at = help.find('\n', heading + 1) + 1;
  while (at < help.size() && help.compare(at, 2, "  ") == 0) {
    const std::size_t begin = help.find_first_not_of(' ', at);
    const std::size_t end = help.find_first_of(" \n", begin);
    // Lines that are set far in go on with what is said about the word above.
    if (begin == at + 2) found.push_back(help.substr(begin, end - begin));
    at = help.find('\n', at);
    if (at == std::string::npos) return;
    ++at;
  }
}

/// Subcommands and flags as the help of the command, and of its subcommands among `words`, names
/// them.
std::vector<std::string> flags_of(const Invocation& invocation,
                                  const std::vector<std::string>& words) {
  for (const Command& command : *invocation.commands) {
    if (command.name != words.front() || command.summary.empty()) continue;
    std::vector<std::string> path;
    std::string help;
    for (std::size_t next = 1;; ++next) {
      const base::MemoryStream memory;
      if (memory.file() == nullptr) return {};
      Invocation quiet = invocation;
      quiet.out = memory.file();
      std::vector<std::string> asked = path;
      asked.emplace_back("--help");
      (void)command.run(quiet, asked);
      help = memory.text();
      // The last word is still being typed.
      if (next + 1 >= words.size()) break;
      std::vector<std::string> known;
      add_subcommands(known, help);
      if (std::ranges::find(known, words[next]) == known.end()) break;
      path.push_back(words[next]);
    }
    std::vector<std::string> found;
    add_subcommands(found, help);
    for (std::size_t at = help.find("--"); at != std::string::npos; at = help.find("--", at + 2)) {
      const std::size_t end = help.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", at);
      const bool starts_word = at == 0 || help[at - 1] == ' ' || help[at - 1] == ',';
      if (starts_word && end > at + 2) found.push_back(help.substr(at, end - at));
    }
    return found;
  }
  return {};
}

}  // namespace

int run_completion(const Invocation& invocation, const std::vector<std::string>& args) {
  const std::string shell = args.size() == 1 ? args.front() : "";
  std::string_view script;
  if (shell == "bash") script = kBash;
  if (shell == "zsh") script = kZsh;
  if (shell == "fish") script = kFish;
  if (shell == "powershell") script = kPowershell;
  if (shell == "--help" || shell == "-h") {
    fmt::print(invocation.out, "Usage: {} completion bash|zsh|fish|powershell\n",
               invocation.program);
    return kExitOk;
  }
  if (script.empty()) {
    fmt::print(invocation.err, "{} completion: name one shell: bash, zsh, fish, powershell\n",
               invocation.program);
    return kExitFailed;
  }
  fmt::print(invocation.out, "{}", script);
  return kExitOk;
}

int run_complete_words(const Invocation& invocation, const std::vector<std::string>& args) {
  if (args.empty()) return kExitOk;
  // args: index of the word that is being typed (the program is word 0), then the words behind the
  // program.
  std::size_t index = 0;
  for (const char c : args.front()) {
    if (c < '0' || c > '9' || index > args.size()) return kExitOk;
    index = index * 10 + static_cast<std::size_t>(c - '0');
  }
  std::vector<std::string> words(args.begin() + 1, args.end());
  if (index == 0) return kExitOk;
  if (words.size() < index) words.resize(index);
  std::vector<std::string> found;
  if (index == 1) {
    for (const Command& command : *invocation.commands) {
      if (!command.summary.empty()) found.emplace_back(command.name);
    }
    found.emplace_back("help");
  } else {
    found = values_of(invocation, words, words[index - 2], words[index - 1]);
    if (found.empty()) found = flags_of(invocation, words);
  }
  for (const std::string& word : found) fmt::print(invocation.out, "{}\n", word);
  return kExitOk;
}

}  // namespace kollect::pipeline
