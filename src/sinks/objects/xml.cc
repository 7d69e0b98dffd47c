#include "sinks/objects/xml.h"

#include <charconv>

#include "base/strings.h"

namespace kollect::sinks::objects {

namespace {

constexpr std::size_t kDeepest = 32;
constexpr std::size_t kLongestEntity = 12;

base::Error broken(const char* why) {
  return base::retryable(std::string("the answer is no readable XML: ") + why, "bad-answer");
}

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  base::Result<XmlElement> document() {
    take("\xef\xbb\xbf");
    KL_TRY(skip_misc());
    XmlElement root;
    KL_TRY(element(root, 0));
    KL_TRY(skip_misc());
    if (!rest_.empty()) return broken("something follows its end");
    return root;
  }

 private:
  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  void skip_blanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
  }

  base::Result<std::string_view> until(std::string_view end) {
    const auto at = rest_.find(end);
    if (at == std::string_view::npos) return broken("it ends early");
    const auto text = rest_.substr(0, at);
    rest_.remove_prefix(at + end.size());
    return text;
  }

  /// Blanks, comments, declarations.
  base::Result<> skip_misc() {
    while (true) {
      skip_blanks();
      if (take("<!--")) {
        KL_TRY(until("-->"));
      } else if (take("<?")) {
        KL_TRY(until("?>"));
      } else {
        return {};
      }
    }
  }

  base::Result<std::string> name() {
    const auto end = rest_.find_first_of(" \t\r\n/>=");
    if (end == std::string_view::npos || end == 0) return broken("a name is missing");
    auto found = rest_.substr(0, end);
    if (found.ends_with(':') || found.find_first_of("<&\"'!?") != std::string_view::npos) {
      return broken("an odd name");
    }
    rest_.remove_prefix(end);
    return std::string(found.substr(found.rfind(':') + 1));
  }

  /// Up to the end of a start tag; true when the element is empty.
  base::Result<bool> rest_of_tag() {
    while (true) {
      skip_blanks();
      if (take("/>")) return true;
      if (take(">")) return false;
      KL_TRY(name());
      skip_blanks();
      if (!take("=")) return broken("an attribute without value");
      skip_blanks();
      const char quote = rest_.empty() ? '\0' : rest_.front();
      if (quote != '"' && quote != '\'') return broken("an attribute without quotes");
      rest_.remove_prefix(1);
      KL_TRY(until(std::string_view(&quote, 1)));
    }
  }

  base::Result<> element(XmlElement& out, std::size_t depth) {
    if (depth > kDeepest) return broken("it is too deep");
    if (!take("<")) return broken("an element is missing");
    KL_ASSIGN(out.name, name());
    KL_ASSIGN(const bool empty, rest_of_tag());
    if (empty) return {};
    while (true) {
      KL_TRY(text(out.text));
      if (take("</")) {
        KL_ASSIGN(const auto closing, name());
        skip_blanks();
        if (closing != out.name || !take(">")) return broken("an end tag does not fit");
        return {};
      }
      if (take("<!--")) {
        KL_TRY(until("-->"));
      } else if (take("<![CDATA[")) {
        KL_ASSIGN(const auto raw, until("]]>"));
        out.text += raw;
      } else if (take("<?")) {
        KL_TRY(until("?>"));
      } else {
        out.children.emplace_back();
        KL_TRY(element(out.children.back(), depth + 1));
      }
    }
  }

  base::Result<> text(std::string& out) {
    while (true) {
      const auto end = rest_.find_first_of("<&");
      if (end == std::string_view::npos) return broken("it ends early");
      out += rest_.substr(0, end);
      rest_.remove_prefix(end);
      if (rest_.front() == '<') return {};
      KL_TRY(entity(out));
    }
  }

  base::Result<> entity(std::string& out) {
    const auto end = rest_.find(';');
    if (end == std::string_view::npos || end > kLongestEntity) return broken("an odd entity");
    const auto word = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    if (word == "amp") {
      out += '&';
    } else if (word == "lt") {
      out += '<';
    } else if (word == "gt") {
      out += '>';
    } else if (word == "quot") {
      out += '"';
    } else if (word == "apos") {
      out += '\'';
    } else {
      return number(word, out);
    }
    return {};
  }

  static base::Result<> number(std::string_view word, std::string& out) {
    if (!word.starts_with('#')) return broken("an unknown entity");
    word.remove_prefix(1);
    const bool hex = word.starts_with('x');
    if (hex) word.remove_prefix(1);
    std::uint32_t code = 0;
    const auto [end, error] =
        std::from_chars(word.data(), word.data() + word.size(), code, hex ? 16 : 10);
    const bool surrogate = code >= 0xd800 && code <= 0xdfff;
    if (error != std::errc() || end != word.data() + word.size() || code > 0x10ffff || surrogate) {
      return broken("an odd entity");
    }
    base::append_utf8(out, code);
    return {};
  }

  std::string_view rest_;
};

}  // namespace

const XmlElement* XmlElement::find(std::string_view child) const {
  for (const auto& one : children) {
    if (one.name == child) return &one;
  }
  return nullptr;
}

std::string_view XmlElement::text_of(std::string_view child) const {
  const auto* found = find(child);
  return found == nullptr ? std::string_view() : std::string_view(found->text);
}

base::Result<XmlElement> parse_xml(std::string_view text) {
  return Reader(text).document();
}

std::string xml_escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace kollect::sinks::objects
