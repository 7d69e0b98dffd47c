// Answers that several routes share (spec: runtime 13.3, 13.5).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/result.h"
#include "http/server.h"
#include "readapi/access.h"

namespace kollect::readapi {

/// {"error":{"code","reason","message"}} and a newline.
http::Answer error_answer(int status, std::string_view reason, std::string_view message);
/// Of a source's error. What is not the caller's to know is logged (`log` may be null) and not
/// told.
http::Answer error_answer(const base::Error& error, const base::Logger* log);
/// Of a verdict that is not kAllowed.
http::Answer refusal(const Verdict& verdict);

/// A weak entity tag of these texts, with its quotes.
std::string entity_tag(std::string_view texts);
/// The request has this state already (RFC 9110, 13.1.2).
bool has_tag(const http::ServerRequest& request, std::string_view tag);
http::Answer not_modified(std::string_view tag);

/// The client takes gzip (RFC 9110, 12.5.3).
bool takes_gzip(const http::ServerRequest& request);
/// The body packed while it is sent, with its headers. Nothing of a stream of events.
http::Answer packed(http::Answer answer);

/// A body that is there, with its tag; 304 where the client has it, packed where it takes that.
http::Answer json_answer(const http::ServerRequest& request, std::string body);

}  // namespace kollect::readapi
