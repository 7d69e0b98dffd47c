#include "top/view.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"
#include "top/cells.h"
#include "top/columns.h"

namespace kollect::top {

namespace {

// Lines that are no rows: title, counts, tabs, heads, keys.
constexpr std::size_t kFrame = 5;

std::string inverse(const std::string& text) {
  return "\x1b[7m" + text + "\x1b[0m";
}
std::string bold(const std::string& text) {
  return "\x1b[1m" + text + "\x1b[0m";
}

std::size_t page_of(Size size) {
  return size.lines > kFrame + 1 ? size.lines - kFrame : 1;
}

/// Drops the last character, whatever its bytes.
void pop_character(std::string& text) {
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0U) == 0x80U) {
    text.pop_back();
  }
  if (!text.empty()) text.pop_back();
}

}  // namespace

void View::show(Picture picture) {
  picture_ = std::move(picture);
  error_.clear();
}

Sheet View::sheet() const {
  if (!picture_) return {};
  Sheet out = sheet_of(*picture_, tab_);
  keep(out, filter_);
  const Choice& chosen = choices_[static_cast<std::size_t>(tab_)];
  if (chosen.column) sort(out, *chosen.column, chosen.descending);
  return out;
}

void View::select(std::size_t row, const Sheet& sheet) {
  Choice& chosen = choice();
  chosen.selected = sheet.rows.empty() ? 0 : std::min(row, sheet.rows.size() - 1);
  chosen.key = sheet.rows.empty() ? std::string() : key_of(sheet, chosen.selected);
}

/// What was selected stays selected wherever it stands now; when it is gone, its place does.
void View::follow(const Sheet& sheet) {
  Choice& chosen = choice();
  const bool there =
      chosen.selected < sheet.rows.size() && key_of(sheet, chosen.selected) == chosen.key;
  if (there) return;
  for (std::size_t i = 0; i < sheet.rows.size() && !chosen.key.empty(); ++i) {
    if (key_of(sheet, i) == chosen.key) {
      chosen.selected = i;
      return;
    }
  }
  select(chosen.selected, sheet);
}

void View::turn(bool forward) {
  const std::size_t step = forward ? 1 : kTabs.size() - 1;
  tab_ = kTabs[(static_cast<std::size_t>(tab_) + step) % kTabs.size()];
  detail_ = false;
}

void View::next_column(bool forward) {
  if (!picture_) return;
  Choice& chosen = choice();
  const std::size_t count = sheet_of(*picture_, tab_).columns.size();
  // One more than there are columns: the order of the source.
  const std::size_t now = chosen.column.value_or(count);
  const std::size_t next = (now + (forward ? 1 : count)) % (count + 1);
  chosen.column = next == count ? std::nullopt : std::optional(next);
}

void View::edit_filter(const Key& key) {
  switch (key.name) {
    case KeyName::kEnter:
      editing_ = false;
      break;
    case KeyName::kEscape:
      editing_ = false;
      filter_.clear();
      break;
    case KeyName::kBackspace:
      pop_character(filter_);
      break;
    case KeyName::kText: {
      constexpr std::size_t kLongest = 200;
      if (filter_.size() < kLongest) filter_ += printable(key.text);
      break;
    }
    default:
      break;
  }
}

void View::move(const Key& key, std::size_t page) {
  const Sheet rows = sheet();
  follow(rows);
  const std::size_t at = choice().selected;
  switch (key.name) {
    case KeyName::kUp:
      return select(at == 0 ? 0 : at - 1, rows);
    case KeyName::kDown:
      return select(at + 1, rows);
    case KeyName::kPageUp:
      return select(at > page ? at - page : 0, rows);
    case KeyName::kPageDown:
      return select(at + page, rows);
    case KeyName::kHome:
      return select(0, rows);
    default:
      return select(rows.rows.size(), rows);
  }
}

Wish View::take_letter(char letter, std::size_t page) {
  switch (letter) {
    case 'q':
      return Wish::kQuit;
    case 'r':
      return Wish::kRefresh;
    case 's':
      next_column(true);
      break;
    case 'S':
      next_column(false);
      break;
    case 'o':
      choice().descending = !choice().descending;
      break;
    case '/':
      editing_ = true;
      break;
    case 'j':
      move({.name = KeyName::kDown, .text = {}}, page);
      break;
    case 'k':
      move({.name = KeyName::kUp, .text = {}}, page);
      break;
    case 'g':
      move({.name = KeyName::kHome, .text = {}}, page);
      break;
    case 'G':
      move({.name = KeyName::kEnd, .text = {}}, page);
      break;
    case '1':
    case '2':
    case '3':
    case '4':
      tab_ = kTabs[static_cast<std::size_t>(letter - '1')];
      detail_ = false;
      break;
    default:
      break;
  }
  return Wish::kNone;
}

Wish View::take(const Key& key, Size size) {
  if (key.name == KeyName::kSuspend) return Wish::kSuspend;
  if (key.name == KeyName::kRedraw) return Wish::kRedraw;
  if (editing_) {
    edit_filter(key);
    return Wish::kNone;
  }
  switch (key.name) {
    case KeyName::kText:
      return key.text.size() == 1 ? take_letter(key.text.front(), page_of(size)) : Wish::kNone;
    case KeyName::kLeft:
    case KeyName::kBackTab:
      turn(false);
      break;
    case KeyName::kRight:
    case KeyName::kTab:
      turn(true);
      break;
    case KeyName::kEnter:
      detail_ = !detail_;
      break;
    case KeyName::kEscape:
      if (!detail_) filter_.clear();
      detail_ = false;
      break;
    case KeyName::kBackspace:
    case KeyName::kUnknown:
      break;
    default:
      move(key, page_of(size));
  }
  return Wish::kNone;
}

std::string View::toned(const std::string& text, Tone tone) const {
  if (!colours_ || tone == Tone::kPlain || text.empty()) return text;
  const char* code = tone == Tone::kGood      ? "32"
                     : tone == Tone::kWarning ? "33"
                     : tone == Tone::kBad     ? "31"
                                              : "2";
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::string View::top_line(std::size_t columns, base::WallTime now) const {
  const std::string left = "kollect top  " + (picture_ ? printable(picture_->source) : "");
  const std::string right =
      picture_ ? age_text(base::format_rfc3339(picture_->at), now) + " ago" : "reading";
  if (columns <= cells(right) + 2) return bold(cut(left, columns));
  return bold(fit(left, columns - cells(right) - 1)) + " " + right;
}

std::string View::tabs_line(std::size_t columns) const {
  std::string out;
  std::size_t used = 0;
  for (const Tab tab : kTabs) {
    const std::size_t count = picture_ ? sheet_of(*picture_, tab).rows.size() : 0;
    std::string text = fmt::format(" {} {} ", title_of(tab), count);
    if (used + cells(text) > columns) text = fmt::format(" {} ", title_of(tab).substr(0, 3));
    if (used + cells(text) > columns) break;
    used += cells(text);
    const bool bad = tab == Tab::kProblems && count > 0;
    out += tab == tab_ ? inverse(text) : bad ? toned(text, Tone::kBad) : text;
  }
  return out;
}

std::string View::last_line(std::size_t columns, std::size_t rows) const {
  if (editing_) return cut("filter: " + filter_ + "_", columns);
  std::string out = filter_.empty() ? "" : fmt::format("filter \"{}\": {} rows  ", filter_, rows);
  out += "q quit  ←→ tables  ↑↓ rows  Enter all of it  / filter  s sort  o order  r look now";
  return cut(out, columns);
}

void View::add_rows(std::vector<std::string>& lines, const Sheet& sheet, Size size,
                    std::size_t room) {
  if (room == 0) return;
  Choice& chosen = choice();
  const std::vector<Place> places = places_of(sheet, size.columns);
  std::string head;
  for (const Place& place : places) {
    std::string text(sheet.columns[place.column].head);
    if (chosen.column == place.column) text += chosen.descending ? "▼" : "▲";
    head +=
        (head.empty() ? "" : "  ") + fit(text, place.width, sheet.columns[place.column].numeric);
  }
  lines.push_back(bold(head));
  const std::size_t page = room - 1;
  if (sheet.rows.empty() && page > 0) {
    lines.push_back(cut(!picture_         ? ""
                        : filter_.empty() ? "nothing"
                                          : "nothing has this text",
                        size.columns));
    return;
  }
  if (chosen.selected < chosen.first) chosen.first = chosen.selected;
  if (page > 0 && chosen.selected >= chosen.first + page) chosen.first = chosen.selected - page + 1;
  if (chosen.first + page > sheet.rows.size()) {
    chosen.first = sheet.rows.size() > page ? sheet.rows.size() - page : 0;
  }
  for (std::size_t i = chosen.first; i < sheet.rows.size() && i < chosen.first + page; ++i) {
    std::string line;
    for (const Place& place : places) {
      const Cell& cell = sheet.rows[i][place.column];
      const std::string text = fit(cell.text, place.width, sheet.columns[place.column].numeric);
      line += (line.empty() ? "" : "  ") + (i == chosen.selected ? text : toned(text, cell.tone));
    }
    lines.push_back(i == chosen.selected ? inverse(line) : line);
  }
}

/// Everything of the selected row, whatever its length.
std::vector<std::string> View::detail_lines(const Sheet& sheet, std::size_t columns) const {
  const std::size_t selected = choices_[static_cast<std::size_t>(tab_)].selected;
  if (!detail_ || sheet.rows.empty()) return {};
  std::vector<std::string> lines = {std::string(columns, '-')};
  constexpr std::size_t kLabel = 13;
  const std::size_t width = columns > 2 * kLabel ? columns - kLabel : columns;
  for (std::size_t i = 0; i < sheet.columns.size(); ++i) {
    const Cell& cell = sheet.rows[selected][i];
    std::string label = width < columns ? fit(sheet.columns[i].head, kLabel) : "";
    for (const std::string& piece : wrapped(cell.text, width)) {
      lines.push_back(bold(label) + toned(piece, cell.tone));
      label.assign(label.size(), ' ');
    }
  }
  return lines;
}

std::vector<std::string> View::draw(Size size, base::WallTime now) {
  const Sheet rows = sheet();
  follow(rows);
  std::vector<std::string> lines;
  const bool tall = size.lines > kFrame + 1;
  lines.push_back(top_line(size.columns, now));
  if (!error_.empty()) {
    lines.push_back(toned(cut(printable(error_), size.columns), Tone::kBad));
  } else if (tall) {
    lines.push_back(picture_ ? cut(counts_text(*picture_), size.columns) : "");
  }
  if (tall) lines.push_back(tabs_line(size.columns));
  const std::size_t used = lines.size() + 1;
  const std::size_t room = size.lines > used ? size.lines - used : 0;
  std::vector<std::string> detail = detail_lines(rows, size.columns);
  // The heads and a few rows stay.
  constexpr std::size_t kLeft = 4;
  detail.resize(std::min(detail.size(), room > kLeft ? room - kLeft : 0));
  add_rows(lines, rows, size, room - detail.size());
  lines.resize(used - 1 + room - detail.size());
  std::ranges::move(detail, std::back_inserter(lines));
  lines.resize(std::max<std::size_t>(size.lines, 1) - 1);
  lines.push_back(last_line(size.columns, rows.rows.size()));
  return lines;
}

}  // namespace kollect::top
