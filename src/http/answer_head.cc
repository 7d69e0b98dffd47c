#include "http/answer_head.h"

#include <fmt/format.h>

#include <algorithm>

namespace kollect::http {

namespace {

std::string_view phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 302:
      return "Found";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 421:
      return "Misdirected Request";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Status";
  }
}

}  // namespace

bool has_body(int status) {
  return status >= 200 && status != 204 && status != 304;
}

void append_header(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  std::ranges::copy_if(value, std::back_inserter(out),
                       [](char c) { return c != '\r' && c != '\n' && c != '\0'; });
  out += "\r\n";
}

std::string start_of_head(int status) {
  return fmt::format("HTTP/1.1 {} {}\r\n", status, phrase(status));
}

PreparedAnswer::PreparedAnswer(Answer answer) {
  std::string head = start_of_head(answer.status);
  for (const auto& [name, value] : answer.headers) append_header(head, name, value);
  if (has_body(answer.status)) {
    head += fmt::format("Content-Length: {}\r\n", answer.body.size());
  } else {
    answer.body.clear();
  }
  const Front front{.status = answer.status,
                    .head = static_cast<std::uint32_t>(head.size()),
                    .size = head.size() + answer.body.size()};
  const auto block = std::make_shared_for_overwrite<char[]>(sizeof front + front.size);
  std::memcpy(block.get(), &front, sizeof front);
  std::ranges::copy(head, block.get() + sizeof front);
  std::ranges::copy(answer.body, block.get() + sizeof front + head.size());
  block_ = block;
}

void PreparedAnswer::fetch() const {
  constexpr std::size_t kLine = 64;
  // The processor sees by itself how it goes on behind these.
  constexpr std::size_t kMost = 24 * kLine;
  const auto begin = reinterpret_cast<std::uintptr_t>(block_.get());
  for (std::size_t at = 0; at < kMost; at += kLine) {
    __builtin_prefetch(reinterpret_cast<const void*>(begin + at));  // none need be there
  }
}

}  // namespace kollect::http
