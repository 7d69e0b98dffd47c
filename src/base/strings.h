// Small text helpers that several rooms share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kollect::base {

/// Cuts ASCII white space (blank, tab, CR, LF, VT, FF) at both ends.
std::string_view trim(std::string_view text);
std::string to_lower(std::string_view text);           ///< ASCII only
bool iequals(std::string_view a, std::string_view b);  ///< ASCII only
std::vector<std::string_view> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string replace_all(std::string text, std::string_view from, std::string_view to);
/// The longest prefix of at most `bytes` bytes that does not cut a UTF-8 character.
std::string_view cut_utf8(std::string_view text, std::size_t bytes);
/// Valid UTF-8 as it is; every byte that is not part of a valid sequence becomes U+FFFD.
std::string sanitize_utf8(std::string_view text);
bool is_valid_utf8(std::string_view text);
void append_utf8(std::string& out, char32_t code_point);
/// DNS-1123 label (at most 63) and subdomain (at most 253).
bool is_dns1123_label(std::string_view text);
bool is_dns1123_subdomain(std::string_view text);
/// Names of `candidates` near to `word` (edit distance up to a third of its length), best first, at
/// most `most`.
std::vector<std::string> near_names(std::string_view word,
                                    const std::vector<std::string>& candidates,
                                    std::size_t most = 3);

}  // namespace kollect::base
