#include "pipeline/init/dialogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>

#include "base/input.h"
#include "base/strings.h"

namespace kollect::pipeline::init {

namespace {

constexpr std::size_t kShown = 30;

/// Index of the choice that `answer` names: its number from 1, its exact text, or its first word.
std::optional<std::size_t> find_choice(std::string_view answer,
                                       const std::vector<std::string>& choices) {
  std::size_t number = 0;
  auto [end, ec] = std::from_chars(answer.data(), answer.data() + answer.size(), number);
  if (ec == std::errc() && end == answer.data() + answer.size()) {
    if (number >= 1 && number <= choices.size()) return number - 1;
    return std::nullopt;
  }
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (choices[i] == answer) return i;
  }
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const std::string_view choice = choices[i];
    if (choice.substr(0, choice.find(' ')) == answer) return i;
  }
  return std::nullopt;
}

std::vector<std::size_t> all_of(std::size_t count) {
  std::vector<std::size_t> all(count);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

}  // namespace

base::Error cancelled_by_user() {
  return base::cancelled("cancelled; nothing was written", "cancelled");
}

void Dialogue::say(std::string_view text) {
  fmt::print(out_, "{}\n", text);
  std::fflush(out_);
}

void Dialogue::heading(std::string_view text) {
  say(colour_ ? fmt::format("\x1b[1m{}\x1b[0m", text) : std::string(text));
}

base::Result<std::string> Dialogue::read_line() {
  // A terminal gives one line a read, so that the stream holds nothing between two questions.
  if (!base::wait_for_input(in_, context_)) return cancelled_by_user();
  std::string line;
  std::array<char, 4096> buffer{};
  while (std::fgets(buffer.data(), static_cast<int>(buffer.size()), in_) != nullptr) {
    line += buffer.data();
    if (line.ends_with('\n')) return std::string(base::trim(line));
  }
  if (line.empty()) return cancelled_by_user();
  return std::string(base::trim(line));
}

base::Result<std::string> Dialogue::ask(
    std::string_view question, std::string_view by_default,
    const std::function<std::optional<std::string>(std::string_view)>& valid) {
  while (true) {
    fmt::print(out_, "{}{}: ", question,
               by_default.empty() ? std::string() : fmt::format(" [{}]", by_default));
    std::fflush(out_);
    KL_ASSIGN(std::string answer, read_line());
    if (answer.empty()) answer = by_default;
    auto complaint = valid ? valid(answer) : std::nullopt;
    if (!complaint) return answer;
    say("  " + *complaint);
  }
}

base::Result<bool> Dialogue::confirm(std::string_view question, bool by_default) {
  auto valid = [](std::string_view answer) -> std::optional<std::string> {
    const std::string word = base::to_lower(answer);
    if (word == "y" || word == "yes" || word == "n" || word == "no") return std::nullopt;
    return "answer yes or no";
  };
  KL_ASSIGN(std::string answer, ask(question, by_default ? "yes" : "no", valid));
  return base::to_lower(answer).starts_with('y');
}

void Dialogue::list(const std::vector<std::string>& choices,
                    const std::vector<std::size_t>& shown) {
  const std::size_t most = std::min(shown.size(), kShown);
  for (std::size_t i = 0; i < most; ++i)
    say(fmt::format("  {:3}) {}", shown[i] + 1, choices[shown[i]]));
  if (shown.size() > most)
    say(fmt::format("  ... {} more; type a part of the name to filter", shown.size() - most));
}

base::Result<std::size_t> Dialogue::choose(std::string_view question,
                                           const std::vector<std::string>& choices,
                                           std::optional<std::size_t> by_default) {
  std::vector<std::size_t> shown = all_of(choices.size());
  while (true) {
    list(choices, shown);
    KL_ASSIGN(std::string answer,
              ask(question, by_default ? std::to_string(*by_default + 1) : std::string()));
    if (auto found = find_choice(answer, choices)) return *found;
    shown.clear();
    const std::string part = base::to_lower(answer);
    for (std::size_t i = 0; i < choices.size(); ++i) {
      if (base::to_lower(choices[i]).find(part) != std::string::npos) shown.push_back(i);
    }
    if (shown.size() == 1 && !answer.empty()) return shown.front();
    if (shown.empty()) {
      say(fmt::format("  nothing fits \"{}\"", answer));
      shown = all_of(choices.size());
    }
  }
}

base::Result<std::vector<std::size_t>> Dialogue::choose_several(
    std::string_view question, const std::vector<std::string>& choices,
    const std::vector<std::size_t>& preset) {
  list(choices, all_of(choices.size()));
  std::vector<std::string> preset_numbers;
  for (std::size_t i : preset) preset_numbers.push_back(std::to_string(i + 1));
  while (true) {
    KL_ASSIGN(std::string answer, ask(question, base::join(preset_numbers, ",")));
    if (answer == "all") return all_of(choices.size());
    std::vector<std::size_t> chosen;
    std::string unknown;
    for (std::string_view word : base::split(answer, ',')) {
      word = base::trim(word);
      if (word.empty()) continue;
      if (auto found = find_choice(word, choices)) {
        if (std::ranges::find(chosen, *found) == chosen.end()) chosen.push_back(*found);
      } else {
        unknown = word;
      }
    }
    if (!unknown.empty()) {
      say(fmt::format("  \"{}\" is not in the list", unknown));
    } else if (chosen.empty()) {
      say("  choose at least one");
    } else {
      return chosen;
    }
  }
}

}  // namespace kollect::pipeline::init
