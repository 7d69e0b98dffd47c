// curl's verdicts as our errors: the one place where they are mapped.
#pragma once

#include <curl/curl.h>

#include <string_view>

#include "base/result.h"

namespace kollect::http {

/// `label` names the request ("GET https://host/path"); `text` is curl's own explanation.
base::Error map_curl_error(CURLcode code, std::string_view label, std::string_view text);

}  // namespace kollect::http
