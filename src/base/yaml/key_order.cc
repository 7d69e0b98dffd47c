#include "base/yaml/key_order.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/yaml/digits.h"
#include "base/yaml/style.h"

namespace kollect::base::yaml {

namespace {

using json::View;

/// More members than this are merged, not inserted one by one.
constexpr std::size_t kInsertionLimit = 256;

/// The decimal number at `at`: its value as digits without leading zeros.
std::string_view significant_digits(std::string_view text, std::size_t at) {
  std::string_view digits = text.substr(at, count_digits(text, at));
  const auto first = digits.find_first_not_of('0');
  return first == std::string_view::npos ? std::string_view() : digits.substr(first);
}

/// True when a digit other than 0 stands in the run of digits before `at`.
bool follows_number(std::string_view text, std::size_t at) {
  while (at > 0 && is_digit(text[at - 1])) {
    --at;
    if (text[at] != '0') {
      return true;
    }
  }
  return false;
}

bool number_less(std::string_view a, std::string_view b, std::size_t at) {
  const std::size_t a_count = count_digits(a, at);
  const std::size_t b_count = count_digits(b, at);
  // In the middle of a number a zero counts: both sides are read with a 1 in front.
  const bool inside = (a[at] == '0' || b[at] == '0') && follows_number(a, at);
  const std::string_view a_value = inside ? a.substr(at, a_count) : significant_digits(a, at);
  const std::string_view b_value = inside ? b.substr(at, b_count) : significant_digits(b, at);
  if (a_value.size() != b_value.size()) {
    return a_value.size() < b_value.size();
  }
  if (a_value != b_value) {
    return a_value < b_value;
  }
  if (a_count != b_count) {
    return a_count < b_count;
  }
  std::size_t a_at = at;
  std::size_t b_at = at;
  return next_character(a, a_at) < next_character(b, b_at);
}

/// Bytewise, but greater digits first.
bool falling_digits_less(std::string_view a, std::string_view b) {
  const auto weight = [](char c) {
    return static_cast<unsigned char>(is_digit(c) ? static_cast<char>('0' + ('9' - c)) : c);
  };
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                      [&](char x, char y) { return weight(x) < weight(y); });
}

bool has_digit(std::string_view text) {
  return std::any_of(text.begin(), text.end(), is_digit);
}

}  // namespace

bool key_less(std::string_view a, std::string_view b) {
  std::size_t at =
      std::mismatch(a.begin(),
                    a.begin() + static_cast<std::ptrdiff_t>(std::min(a.size(), b.size())),
                    b.begin())
          .first -
      a.begin();
  if (at == a.size() || at == b.size()) {
    return a.size() < b.size();
  }
  // Back to the first byte of the character.
  while (at > 0 && (static_cast<unsigned char>(a[at]) & 0xC0U) == 0x80U) {
    --at;
  }
  std::size_t a_end = at;
  std::size_t b_end = at;
  const char32_t x = next_character(a, a_end);
  const char32_t y = next_character(b, b_end);
  const bool x_letter = is_letter(x);
  const bool y_letter = is_letter(y);
  if (x_letter && y_letter) {
    return x < y;
  }
  if (x_letter || y_letter) {
    return y_letter;
  }
  return number_less(a, b, at);
}

namespace {

/// Members as they stand when they are in order already, without numbers that could make circles.
std::optional<std::vector<View::Member>> already_ordered(View object) {
  std::vector<View::Member> members;
  members.reserve(object.size());
  for (const View::Member& member : object.members()) {
    if (has_digit(member.key) || (!members.empty() && !key_less(members.back().key, member.key))) {
      return std::nullopt;
    }
    members.push_back(member);
  }
  return members;
}

}  // namespace

std::vector<View::Member> ordered_members(View object) {
  if (auto members = already_ordered(object)) {
    return std::move(*members);
  }
  std::vector<View::Member> members = object.sorted_members();
  const auto less = [](const View::Member& a, const View::Member& b) {
    return key_less(a.key, b.key);
  };
  const bool circles =
      std::any_of(members.begin(), members.end(), [](const auto& m) { return has_digit(m.key); });
  if (!circles || members.size() > kInsertionLimit) {
    // Stays within bounds even where key_less is no strict weak order, unlike std::sort.
    std::stable_sort(members.begin(), members.end(), less);
    return members;
  }
  // Where keys form circles the order of insertion decides. This one puts plain numbers before
  // mixtures: a9, a10, a1b.
  std::sort(members.begin(), members.end(),
            [](const auto& a, const auto& b) { return falling_digits_less(a.key, b.key); });
  for (auto at = members.begin(); at != members.end(); ++at) {
    auto place = at;
    while (place != members.begin() && less(*at, *std::prev(place))) {
      --place;
    }
    std::rotate(place, at, std::next(at));
  }
  return members;
}

}  // namespace kollect::base::yaml
