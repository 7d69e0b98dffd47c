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
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
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

PreparedAnswer::PreparedAnswer(Answer answer)
    : status_(answer.status), bytes_(start_of_head(answer.status)) {
  for (const auto& [name, value] : answer.headers) append_header(bytes_, name, value);
  const bool with_body = has_body(status_);
  if (with_body) bytes_ += fmt::format("Content-Length: {}\r\n", answer.body.size());
  head_ = bytes_.size();
  if (with_body) bytes_ += answer.body;
  bytes_.shrink_to_fit();
}

}  // namespace kollect::http
